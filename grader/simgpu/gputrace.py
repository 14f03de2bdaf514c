"""`torch.cuda._gpu_trace`: calls of CUDA, told to whoever has registered there; here, the simulated GPU's.

PyTorch's sanitizer (see sanitizer.py) is the one that listens. Events go by `Event.cuda_event`, streams by
`Stream.cuda_stream`.
"""

from __future__ import annotations

import itertools
from typing import Any

from torch.cuda import _gpu_trace as calls

_unnamed = itertools.count(1)  # events that PyTorch makes for itself


def heard() -> bool:
    """Is anybody listening?"""
    return bool(calls.EventRecordCallbacks.callback_list)


def tell(registry: Any, *what: int) -> None:
    """Tell the listeners of one kind of call."""
    if registry.callback_list:
        registry.fire_callbacks(*what)


def unnamed_event() -> int:
    """The number of an event that no Event object stands for."""
    return next(_unnamed)
