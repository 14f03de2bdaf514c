"""What the programs after PyTorch's tutorials share."""

from __future__ import annotations

import torch
import torch.nn as nn


def model() -> nn.Module:
    """A small classifier, 4 -> 2, with the same weights each time; on the host."""
    made = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    with torch.no_grad():
        for i, p in enumerate(made.parameters()):
            p.copy_(torch.linspace(-0.5, 0.7, p.numel()).view_as(p) * (i + 1))
    return made


def rounded(values: list[float], digits: int = 3) -> list[float]:
    """Values that two devices agree on; never -0.0."""
    return [round(v, digits) + 0.0 for v in values]
