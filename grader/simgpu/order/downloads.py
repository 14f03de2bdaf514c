"""Downloads to pinned memory while they run: what will be there once the host has waited."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.utils._python_dispatch import _disable_current_modes

from grader.simgpu.order.state import order


def download(work: Any, target: torch.Tensor, values: torch.Tensor) -> None:
    """`work`, which runs now, copies from the device: `values` will be in `target`, the tensor over its
    pinned destination, once the host has waited for it.
    """
    (access,) = work.writes
    storage = access.storage()
    address, count = storage.data_ptr() + access.low, access.high - access.low
    now = ctypes.string_at(address, count)
    with PlainTensors(), torch.no_grad():
        target.copy_(values)
    order().open[id(work)].coming = access, now, ctypes.string_at(address, count)
    ctypes.memmove(address, now, count)
    if work.rerun is None and work.reads:
        work.rerun = _CopyAgain(work.reads[0], access)


class _CopyAgain:
    """A download, to be done again."""

    __slots__ = ("source", "target")

    def __init__(self, source: Any, target: Any) -> None:
        self.source, self.target = source, target

    def __call__(self, storages: Any) -> None:
        with _disable_current_modes(), PlainTensors(), torch.no_grad():
            self.target.tensor().copy_(self.source.tensor())
