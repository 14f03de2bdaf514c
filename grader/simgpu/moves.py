"""Moving tensors between the host and the simulated GPU: `.to`, `.cuda`, `.cpu`, `.type`, `.data = ...`,
storages.

A copy to the device is PyTorch's own `.to("cuda:0")`: its allocation ends in our kernel for the CUDA dispatch
key, and autograd, strides and memory formats are PyTorch's. The way back is PyTorch's copy from CPU to CPU,
unmarked.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch
from torch._C import DisableTorchFunction as PlainCalls  # unseen by modes, a default device's among them
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.nn.parameter import UninitializedTensorMixin as _Lazy

from grader.simgpu import copies, devices, memory, tensors
from grader.simgpu.legacy import dtype_of, pytorchs_own
from grader.simgpu.pinned import GuardedTensor
from grader.simgpu.tensors import SimTensor, mark, rule, unmark

_Tensor = torch.Tensor
_to, _cuda, _type = _Tensor.to, _Tensor.cuda, _Tensor.type
_get_data, _set_data = _Tensor.data.__get__, _Tensor.data.__set__
_storage_to = torch.storage._StorageBase.to
_materialize = _Lazy.materialize
_PLAIN = (_Tensor, torch.nn.Parameter, GuardedTensor)


@functools.wraps(_to)
def to(self, *args, **kwargs):
    __tracebackhide__ = True
    if args:
        target = args[0]
        if type(target) is torch.dtype and not isinstance(self, SimTensor):
            return _to(self, *args, **kwargs)
    else:
        target = kwargs.get("device", kwargs.get("tensor"))
    if isinstance(target, _Tensor):  # `.to(other)`: other's dtype and device
        rest = args[1:] if args else args
        kwargs = {k: v for k, v in kwargs.items() if k != "tensor"}
        return to(self, target.device, target.dtype, *rest, **kwargs)
    if isinstance(self, SimTensor):
        return _from_device(self, target, args, kwargs)
    if not devices.is_cuda(target):
        return _to(self, *args, **kwargs)
    devices.check_index(target)
    if args:
        args = ("cuda:0", *args[1:])
    else:
        kwargs = {**kwargs, "device": "cuda:0"}
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    dtype = dtype if isinstance(dtype, torch.dtype) else None
    unseen = PlainCalls if type(self) in _PLAIN else contextlib.nullcontext

    def copy() -> _Tensor:
        with unseen():
            return mark(_to(self, *args, **kwargs))

    return copies.upload(self, copy, _non_blocking(args, kwargs), dtype=dtype)


def _non_blocking(args: tuple, kwargs: dict) -> bool:
    """`.to(device, dtype, non_blocking, copy)`: the third of them."""
    return bool(args[2]) if len(args) > 2 else bool(kwargs.get("non_blocking"))


def _from_device(self: SimTensor, target: Any, args: tuple, kwargs: dict) -> _Tensor:
    if target is None or isinstance(target, torch.dtype):
        return _on_device(self, args, kwargs)
    if devices.is_cuda(target):
        devices.check_index(target)
        if args:
            args = (
                "cpu",
                *args[1:],
            )  # where the memory really is: no copy unless something else asks for one
        else:
            args, kwargs = ("cpu",), {k: v for k, v in kwargs.items() if k != "device"}
        return _on_device(self, args, kwargs)
    with PlainCalls():
        if torch.device(target).type != "cpu":
            return _to(self, *args, **kwargs)
        if len(args) < 4:
            kwargs = {**kwargs, "copy": True}
        return copies.download(self, lambda: unmark(_to(self, *args, **kwargs)), _non_blocking(args, kwargs))


def _on_device(self: SimTensor, args: tuple, kwargs: dict) -> _Tensor:
    if kwargs.get("device", self) is None:
        kwargs = {k: v for k, v in kwargs.items() if k != "device"}
    with PlainCalls():
        return tensors.run(_to, (self, *args), kwargs)


@functools.wraps(_cuda)
def cuda(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    __tracebackhide__ = True
    if device is None:
        device = "cuda:0"
    elif not devices.is_cuda(device):
        if isinstance(device, (str, torch.device)):
            torch.device(device)  # a malformed string: PyTorch's own words
            raise RuntimeError("Invalid device, must be cuda device")
        return _cuda(self, device)  # not a device at all: PyTorch's own words
    return to(self, device, non_blocking=non_blocking, memory_format=memory_format)


@rule(_Tensor.cpu)
def _cpu(func, args, kwargs):
    (self, *rest) = args
    with PlainCalls():
        if rest or set(kwargs) - {"memory_format"}:
            return func(*args, **kwargs)  # PyTorch's own words
        return copies.download(self, lambda: unmark(_to(self, "cpu", copy=True, **kwargs)), False)


@rule(_Tensor.copy_)
def _copy_(func, args, kwargs):
    given = {**dict(zip(("self", "src", "non_blocking"), args, strict=False)), **kwargs}
    target, source = given.get("self"), given.get("src", given.get("other"))
    on_device = isinstance(target, SimTensor), isinstance(source, SimTensor)
    if not isinstance(source, _Tensor) or all(on_device):
        return tensors.run(func, args, kwargs)

    def copy() -> _Tensor:
        with PlainTensors():
            return func(*args, **kwargs)

    move = copies.upload if on_device[0] else copies.download
    return move(source, copy, given.get("non_blocking", False), into=target)


@rule(_Tensor.tolist)
def _tolist(func, args, kwargs):
    def read() -> Any:
        with PlainTensors():
            return func(*args, **kwargs)

    return copies.read_back(args[0], read, "tolist")


# ------------------------------------------------------------------ type names


def type_name(t: SimTensor) -> str:
    with PlainTensors():
        return _type(t).replace("torch.", "torch.cuda.", 1)


@functools.wraps(_type)
def type_(self, dtype=None, non_blocking=False, **kwargs):
    if dtype is None:
        return type_name(self) if isinstance(self, SimTensor) else _type(self)
    dtype = pytorchs_own(dtype)
    name = dtype if isinstance(dtype, str) else getattr(dtype, "cuda_type_name", None)
    if isinstance(name, str) and name.startswith("torch.cuda."):
        return to(self, "cuda:0", dtype_of(name), non_blocking=non_blocking)
    if isinstance(self, SimTensor):
        if isinstance(dtype, torch.dtype):
            return to(self, dtype, non_blocking=non_blocking)
        name = name or f"{dtype.__module__}.{dtype.__name__}"
        return to(self, "cpu", dtype_of(name), non_blocking=non_blocking)
    return _type(self, dtype, non_blocking, **kwargs)


@rule(_Tensor.type_as)
def _type_as(func, args, kwargs):
    self, other = args if len(args) > 1 else (args[0], kwargs["other"])
    return to(self, other.device, other.dtype)


# ------------------------------------------------------------------ .data, storages


def _assign_data(self, value):
    with PlainTensors():
        _set_data(self, value)
    if isinstance(value, SimTensor):
        mark(self)
    else:
        unmark(self)


def materialize(self, shape, device=None, dtype=None):
    """A lazy module's parameter gets its shape: its memory is where the parameter was made or moved to."""
    with PlainTensors():
        simulated = devices.is_cuda(device) or (device is None and memory.is_resident(self))
    _materialize(self, shape, "cuda:0" if simulated else device, dtype)
    if simulated:
        mark(self)


@rule(torch._has_compatible_shallow_copy_type)
def _compatible(func, args, kwargs):
    with PlainTensors():
        return func(
            *args
        )  # CPU and CUDA tensors are compatible: `module.to()` keeps its parameters' identity


@functools.wraps(_storage_to)
def storage_to(self, *, device, non_blocking=False):
    if devices.is_cuda(device):
        devices.check_index(device)
        return self if isinstance(self, memory.SimStorage) else memory.clone(self)
    if isinstance(self, memory.SimStorage) and torch.device(device).type == "cpu":
        return self.cpu()
    return _storage_to(self, device=device, non_blocking=non_blocking)


def patches():
    yield _Tensor, "to", to
    yield _Tensor, "cuda", cuda
    yield _Tensor, "type", type_
    yield _Tensor, "data", property(_get_data, _assign_data, doc=_Tensor.data.__doc__)
    yield torch.storage._StorageBase, "to", storage_to
    yield _Lazy, "materialize", materialize
    yield _Lazy, "_allowed_methods", [*_Lazy._allowed_methods, to, cuda]
