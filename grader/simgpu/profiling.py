"""The profiler on the simulated GPU: it records what the host does, and no times of the device."""

from __future__ import annotations

import functools
from typing import Any

import torch.autograd.profiler as profiler

_init = profiler.profile.__init__


@functools.wraps(_init)
def init(
    self, *args, use_cuda: bool = False, use_device: str | None = None, use_cpu: bool = True, **rest: Any
) -> None:
    # Asked for CUDA events, PyTorch would fail to record each of them, and print that with a C++ traceback.
    if use_cuda or use_device == "cuda":
        use_device, use_cpu = None, True
    _init(self, *args, use_device=use_device, use_cpu=use_cpu, **rest)


def patches():
    yield profiler.profile, "__init__", init
