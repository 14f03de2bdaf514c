"""Making tensors on the simulated GPU: `torch.zeros(3, device="cuda")` and all its kin.

Two ways in. The functions that take `device=` are wrapped, for the spellings that PyTorch's C++ refuses
before it dispatches (a bare index, `pin_memory=True`, Python data). Below them ATen's allocation and random
operations get kernels for the CUDA dispatch key, which serve whoever holds the original functions: C++,
TorchScript, `from torch import zeros`.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.utils._device as default_device
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.jit._builtins import _get_builtin_table as _builtin_table

from grader.simgpu import (
    copies,
    devices,
    foreign,
    lost,
    memory,
    order,
    pinned,
    rng,
    streams,
    tracking,
    wording,
)
from grader.simgpu.tensors import SimTensor, mark_all

_CONSTRUCTORS = frozenset(default_device._device_constructors())  # of the unpatched torch
_FROM_DATA = (torch.as_tensor, torch.asarray)
_READS_DATA = (*_FROM_DATA, torch.tensor)
_LIKE = ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like")
_to = torch.Tensor.to
_HUGE = 1 << 26  # elements


def make(func: Any, args: tuple, kwargs: dict) -> Any:
    """Call the factory `func`, whose `device=` names CUDA: the result is on the simulated GPU."""
    __tracebackhide__ = True
    devices.check_index(kwargs["device"])
    lost.check()
    if _fake_mode() is not None:
        return _make_fake(func, args, kwargs)
    if kwargs.get("pin_memory"):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    if func not in _READS_DATA and _may_be_huge(args):
        _check_room(func, args, kwargs)
    kwargs = {**kwargs, "device": "cpu"}
    if func in _READS_DATA:
        return _from_data(func, args, kwargs)
    if rng.is_random(func):
        with PlainTensors():
            return mark_all(rng.run(func, args, kwargs))
    with tracking.maybe(), PlainTensors():
        made = func(*args, **kwargs)
        _place(func, made)
        return mark_all(made)


def _place(func: Any, made: Any) -> None:
    """Give a large new tensor, made while nobody follows work, a block that was freed, if there is one."""
    if type(made) is torch.Tensor and made.layout is torch.strided and made.nbytes >= memory.LARGE:
        order.allocated(made, streams.current(), written=not func.__name__.startswith("empty"))


def _from_data(func: Any, args: tuple, kwargs: dict) -> Any:
    """`torch.tensor(data)` and its kin: made on the host, then copied to the device by a blocking copy."""
    __tracebackhide__ = True
    if args and isinstance(args[0], SimTensor):
        with tracking.maybe(), PlainTensors():
            return mark_all(func(*args, **kwargs))
    with PlainTensors():
        made = func(*args, **kwargs)
    if func in _FROM_DATA:  # it may share memory with the learner's own data
        return copies.upload(made, lambda: mark_all(_to(made, "cuda:0", copy=True)), False)
    return copies.upload(made, lambda: mark_all(made), False)


def _fake_mode() -> Any:
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)


def _make_fake(func: Any, args: tuple, kwargs: dict) -> Any:
    """A compiler asks for shape, type and device only: such a tensor may be anywhere."""
    if func not in _READS_DATA:
        return func(*args, **{**kwargs, "device": "cuda:0"})
    return func(*args, **{**kwargs, "device": "cpu"}).to("cuda:0")


def _may_be_huge(args: tuple) -> bool:
    """Could a factory with these arguments fill the machine's memory? A cheap look, on the safe side."""
    product = 1
    for a in args:
        for n in a if isinstance(a, (tuple, list)) else (a,):
            if type(n) is not int:
                break
            product *= max(n, 1)
    return product >= _HUGE


def _check_room(func: Any, args: tuple, kwargs: dict) -> None:
    __tracebackhide__ = True
    kwargs = {k: v for k, v in kwargs.items() if k not in ("generator", "pin_memory")}
    wanted = func(*args, **{**kwargs, "device": "meta"})
    wording.check_room(wanted.numel() * wanted.element_size())


def _asks_for_us(kwargs: dict) -> bool:
    """Do a factory's keywords name the simulated GPU, pinned memory, or a generator of the device?"""
    device = kwargs.get("device")
    if device is not None and devices.is_cuda(device):
        return True
    return bool(kwargs.get("pin_memory")) or type(kwargs.get("generator")) is rng.CudaGenerator


def _divert(func: Any, args: tuple, kwargs: dict) -> Any:
    __tracebackhide__ = True
    if devices.is_cuda(kwargs.get("device")):
        return make(func, args, kwargs)
    if kwargs.get("pin_memory"):
        return pinned.make(func, args, kwargs)
    if default_device.CURRENT_DEVICE is None:
        raise RuntimeError("Expected a 'cpu' device type for generator but found 'cuda'")
    return func(*args, **kwargs)


def _wrapped(func: Any, name: str) -> Any:
    @functools.wraps(func)
    def factory(*args, **kwargs):
        __tracebackhide__ = True
        if kwargs and _asks_for_us(kwargs):
            return _divert(func, args, kwargs)
        return func(*args, **kwargs)

    return _named(factory, name)


def _from_data_wrapped(func: Any, name: str) -> Any:
    """For functions whose data may be a tensor that PyTorch does not ask about `__torch_function__`."""

    @functools.wraps(func)
    def factory(*args, **kwargs):
        __tracebackhide__ = True
        if args and isinstance(args[0], SimTensor):
            return _from_simulated(func, *args, **kwargs)
        if args and foreign.is_array(args[0]):
            return foreign.as_tensor(func, *args, **kwargs)
        if kwargs and _asks_for_us(kwargs):
            return _divert(func, args, kwargs)
        return func(*args, **kwargs)

    return _named(factory, name)


def _from_simulated(func: Any, data: SimTensor, *args, **kwargs) -> Any:
    device = kwargs.pop("device", None)
    if device is None or devices.is_cuda(device):
        return make(func, (data, *args), {**kwargs, "device": device or "cuda:0"})
    return func(data.to(device), *args, **kwargs)


def _named(factory: Any, name: str) -> Any:
    factory.__module__, factory.__name__, factory.__qualname__ = "torch", name, name
    return factory


def _default_device_torch_function(self, func, types, args=(), kwargs=None):
    """DeviceContext's own, but for a default device that is simulated."""
    kwargs = kwargs or {}
    if func in _CONSTRUCTORS and kwargs.get("device") is None:
        kwargs["device"] = self.device
        if devices.is_cuda(self.device):
            return make(func, args, kwargs)
    return func(*args, **kwargs)


# ATen operations that have no composite kernel, or draw; the rest is built on them.
_KERNELS = (
    "empty.memory_format", "empty_strided", "tril_indices", "triu_indices", "normal.float_float", "rand",
    "rand.generator", "randn", "randn.generator", "randint", "randint.generator", "randint.low",
    "randint.low_generator", "randperm", "randperm.generator",
)  # fmt: skip


def _kernel(name: str) -> Any:
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def kernel(*args, **kwargs):
        return make(op, args, {**kwargs, "pin_memory": None} if "pin_memory" in kwargs else kwargs)

    return kernel


def install_kernels() -> Any:
    """Register the kernels for the CUDA dispatch key; the library that holds them (drop it to undo)."""
    library = torch.library.Library("aten", "IMPL")
    for name in _KERNELS:
        library.impl(name, _kernel(name), "CUDA")
    return library


def _wrappers() -> list[tuple[Any, str, Any]]:
    found = []
    for func in sorted(
        _CONSTRUCTORS | {getattr(torch, n) for n in (*_LIKE, "normal")}, key=lambda f: f.__name__
    ):
        name = func.__name__
        if getattr(torch, name, None) is func:  # torch.fft.fftfreq and the like are served by the kernels
            wrap = _from_data_wrapped if func in _READS_DATA else _wrapped
            found.append((torch, name, wrap(func, name)))
    return found


_WRAPPERS = _wrappers()

_NEW = ("new_tensor", "new_zeros", "new_ones", "new_full", "new_empty")
_METHODS = [(torch.Tensor, name, _wrapped(getattr(torch.Tensor, name), name)) for name in _NEW]

# TorchScript knows built-in functions by identity; it has to know the wrappers too.
for _, _name, _wrapper in _WRAPPERS:
    _builtin_table()[id(_wrapper)] = f"aten::{_name}"


def patches():
    yield from _WRAPPERS
    yield from _METHODS
    yield default_device.DeviceContext, "__torch_function__", _default_device_torch_function
