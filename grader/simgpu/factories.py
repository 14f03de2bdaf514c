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

from grader.simgpu import devices, pinned, rng, trace, wording
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
    if kwargs.get("pin_memory"):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    if func not in _READS_DATA and _may_be_huge(args):
        _check_room(func, args, kwargs)
    kwargs = {**kwargs, "device": "cpu"}
    with PlainTensors():
        if rng.is_random(func):
            return mark_all(rng.run(func, args, kwargs))
        made = func(*args, **kwargs)
        if func in _FROM_DATA and not isinstance(made, SimTensor):
            return _to(made, "cuda:0", copy=True)  # `made` may share memory with the learner's own data
    if trace.active():
        _count(func, made)
    return mark_all(made)


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


def _count(func: Any, made: torch.Tensor) -> None:
    name = func.__name__.partition(".")[0]
    if name not in _NO_KERNEL:
        trace.emit(trace.Launch(name, "torch", 0, made.numel() * made.element_size(), made.numel()))


_NO_KERNEL = {
    "tensor",
    "as_tensor",
    "asarray",
    "empty",
    "empty_strided",
    "empty_like",
    "empty_permuted",
    "scalar_tensor",
}


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
