"""Indices out of range on the device: a CUDA kernel does not raise, its assert ends the device.

The call returns as if nothing had happened; the next use of the device fails, and every one after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.utils._pytree import tree_any

from grader.simgpu import lost, streams

# What PyTorch's CPU kernels say where its CUDA kernels assert.
_ASSERTED = re.compile(
    r"^index out of range in self"
    r"|^index -?\d+ is out of bounds for dimension \d+ with size \d+"
    r"|^out of range: tried to access index"
    r"|^Target -?\d+ is out of bounds"
)
_TRIGGERED = "device-side assert triggered"
_ITEMS = ("__getitem__", "__setitem__")  # the index may also be Python's, which the host checks


def run(func: Callable, args: tuple, kwargs: dict) -> Any:
    """`func(*args, **kwargs)`, an operation on memory of the device; such an error ends the device."""
    __tracebackhide__ = True
    try:
        return func(*args, **kwargs)
    except (IndexError, RuntimeError) as error:
        if not handled(func, args, kwargs, error):
            raise
        return result_of(func, args, kwargs, error)


def replay(rerun: Callable[[Any], None], storages: Any) -> None:
    """Do the work of a graph again."""
    try:
        rerun(storages)
    except (IndexError, RuntimeError) as error:
        if not _ASSERTED.match(str(error)):
            raise
        lost.poison(_TRIGGERED, str(error))


def handled(func: Callable, args: tuple, kwargs: dict, error: Exception) -> bool:
    """Is `error`, raised by `func(*args, **kwargs)`, one that a CUDA device meets by itself?"""
    if not _ASSERTED.match(str(error)):
        return False
    if getattr(func, "__name__", "") in _ITEMS:
        places = args[1] if isinstance(args[1], tuple) else args[1:2]
        return any(isinstance(place, (torch.Tensor, list)) for place in places)
    return tree_any(_is_index, (args, kwargs))


def result_of(func: Callable, args: tuple, kwargs: dict, error: Exception) -> Any:
    """What such a call returns: something of the right shape. The device is lost, unless nothing ran."""
    if streams.current().capture is None:
        lost.poison(_TRIGGERED, f"{error} (in {getattr(func, '__name__', func)})")
    with PlainTensors():
        return func(*_in_range(args), **{k: _in_range(v) for k, v in kwargs.items()})


def _is_index(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex())


def _in_range(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in (torch.int64, torch.int32):
        return torch.zeros_like(value, device="cpu")
    if isinstance(value, (list, tuple)):
        numbers = isinstance(value, list) and all(isinstance(v, int) for v in value)
        return type(value)([0] * len(value) if numbers else map(_in_range, value))
    return value
