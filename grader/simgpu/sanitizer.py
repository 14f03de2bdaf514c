"""PyTorch's own sanitizer of streams, `torch.cuda._sanitizer`, on the simulated GPU.

It learns from gputrace.py which streams wait for which. What operations read and write it sees for itself, in
a dispatch mode: there it asks of each tensor whether it is the device's, and meets those that an operation
has just made before they are marked.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from grader.simgpu import memory, switch, tracking
from grader.simgpu.gputrace import calls, tell
from grader.simgpu.streams import state
from grader.simgpu.tensors import SimTensor

_NAME = "torch.cuda._sanitizer"


def _activate() -> None:
    """`torch._C._activate_gpu_trace`: the last thing but one that the sanitizer's module does."""
    state.device().watchers += 1  # from now on all work is followed
    for owner, name, replacement in _of_the_module():
        switch.patch(owner, name, replacement)


def _of_the_module() -> list[tuple[Any, str, Any]]:
    module = sys.modules.get(_NAME)
    if module is None:
        return []
    handler = module.ArgumentHandler
    return [(handler, "_handle_argument", _seeing_unmarked(handler._handle_argument))]


def _seeing_unmarked(handle: Any) -> Any:
    def _handle_argument(self, value, *args, is_output=False, **kwargs):
        if type(value) is not torch.Tensor or not tracking.in_device_work():
            return handle(self, value, *args, is_output=is_output, **kwargs)
        if not memory.is_resident(value):
            if not is_output:
                return None  # the host's
            tell(calls.MemoryAllocationCallbacks, value.data_ptr())
        value.__class__ = SimTensor
        try:
            return handle(self, value, *args, is_output=is_output, **kwargs)
        finally:
            value.__class__ = torch.Tensor

    return _handle_argument


def patches():
    yield torch._C, "_activate_gpu_trace", _activate
    yield from _of_the_module()
