"""Running PyTorch's operations on simulated tensors: what `__torch_function__` does when no special rule
applies.

An operation runs on the CPU memory behind its operands and its results are marked. Before that come the
things that a GPU would do differently: operands on two devices, the device's own random numbers, autocast's
casts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import (
    asserts,
    autocast,
    backward_streams,
    devices,
    mixing,
    rng,
    tensors,
    tracking,
    wording,
)
from grader.simgpu.tensors import SimTensor, mark, mark_all

_Tensor = torch.Tensor


def _has_host_tensor(values: Any) -> bool:
    """Is there a tensor among `values` (one level of lists looked into) that is not on the simulated GPU?"""
    for v in values:
        if isinstance(v, _Tensor):
            if not isinstance(v, SimTensor):
                return True
        elif type(v) in (list, tuple) and v and _has_host_tensor(v):
            return True
    return False


def run(func: Any, args: tuple, kwargs: dict) -> Any:
    """Call `func` on the memory behind the simulated operands; its new tensors are on the simulated GPU."""
    __tracebackhide__ = True
    if kwargs:
        if "device" in kwargs:
            return _to_named_device(func, args, kwargs)
        host = _has_host_tensor(args) or _has_host_tensor(kwargs.values())
    else:
        host = _has_host_tensor(args)
    if host and not mixing.reads_number(func, args, kwargs):
        return mixing.run(func, args, kwargs)
    if torch.is_autocast_enabled("cuda"):
        args, kwargs = autocast.cast(func, args, kwargs)
    if rng.is_random(func):
        return mark_all(rng.run(func, args, kwargs))
    try:
        if tracking.wanted():
            result = tracking.run(func, args, kwargs)
            if torch.is_grad_enabled():
                backward_streams.note(result)
        else:
            with PlainTensors():
                result = func(*args, **kwargs)
            if type(result) is not _Tensor:
                tracking.untracked(func, args, kwargs, result)
    except IndexError as error:
        if not asserts.handled(func, args, kwargs, error):
            raise
        result = asserts.result_of(func, args, kwargs, error)
    except RuntimeError as error:
        if asserts.handled(func, args, kwargs, error):
            return mark_all(asserts.result_of(func, args, kwargs, error))
        on_cuda = wording.as_on_cuda(error)
        if on_cuda is error:
            raise
        raise on_cuda from None
    if type(result) is _Tensor:
        return mark(result)
    if result is None or isinstance(result, SimTensor):
        return result
    return mark_all(result)


def _to_named_device(func: Any, args: tuple, kwargs: dict) -> Any:
    """`zeros_like(x, device=...)` and its kind, x simulated: the result is where `device` says."""
    __tracebackhide__ = True
    device = kwargs["device"]
    if device is not None and not devices.is_cuda(device):
        with PlainTensors():
            return func(*args, **kwargs)
    devices.check_index(device)
    if kwargs.get("pin_memory"):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    return run(func, args, {k: v for k, v in kwargs.items() if k != "device"})


tensors.run = run
