"""Tensors that live on the simulated GPU.

A simulated CUDA tensor is an ordinary CPU tensor whose *class* says otherwise. The class is assigned to the
existing object, so identity, autograd graph and storage stay what they are: a module's parameters remain
those of their optimiser. There is no mode that is always on: operations reach `__torch_function__` only if a
SimTensor takes part.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass

from grader.simgpu import memory

DEVICE = torch.device("cuda", 0)

_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter
_detach = torch.Tensor.detach

RULES: dict[
    Any, Any
] = {}  # functions that need more than "run it on the CPU and mark the results": func -> rule


def rule(*funcs: Any):
    """Register `rule(func, args, kwargs)` as what happens when one of `funcs` meets a SimTensor."""

    def register(body):
        for func in funcs:
            RULES[func] = body
        return body

    return register


class SimTensor(torch.Tensor):
    """A tensor on `cuda:0` of the simulated GPU."""

    @property
    def device(self) -> torch.device:
        return DEVICE

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def is_cpu(self) -> bool:
        return False

    def get_device(self) -> int:
        return 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        __tracebackhide__ = True  # notebooks leave our frames out of the learner's traceback
        special = RULES.get(func)
        if special is not None:
            return special(func, args, kwargs or {})
        return run(func, args, kwargs or {})


class SimParameter(SimTensor, torch.nn.Parameter):
    """A module parameter on the simulated GPU."""

    __torch_function__ = SimTensor.__torch_function__


# What learners see of a class is its name, and that is the same on every device.
for _cls, _origin in ((SimTensor, torch.Tensor), (SimParameter, torch.nn.Parameter)):
    _cls.__name__ = _cls.__qualname__ = _origin.__name__
    _cls.__module__ = _origin.__module__

_TO_SIM = {_Tensor: SimTensor, _Parameter: SimParameter}
_TO_HOST = {SimTensor: _Tensor, SimParameter: _Parameter}
SIMULATED = frozenset(_TO_HOST)  # `type(x) in` it takes a third of the time of isinstance(x, SimTensor)


def mark(t: torch.Tensor) -> torch.Tensor:
    """Turn the plain CPU tensor `t` into a SimTensor in place; returns `t`. Tensors of other classes stay."""
    kind = _TO_SIM.get(type(t))
    if kind is not None and t.is_cpu:
        memory.note(t)
        t.__class__ = kind
    return t


def unmark(t: torch.Tensor) -> torch.Tensor:
    """Turn the SimTensor `t` back into a plain tensor, in place. Only for tensors that nobody else holds."""
    kind = _TO_HOST.get(type(t))
    if kind is not None:
        t.__class__ = kind
    return t


def plain(t: torch.Tensor) -> torch.Tensor:
    """A plain CPU tensor that shares `t`'s storage (no copy, no autograd)."""
    with DisableTorchFunctionSubclass():
        alias = _detach(t)
    return unmark(alias)


def mark_all(value: Any) -> Any:
    """Mark every plain tensor in `value` (tensors in tuples, lists, dicts); returns `value`."""
    if isinstance(value, _Tensor):
        if value.__class__ is _Tensor or value.__class__ is _Parameter:
            mark(value)
    elif isinstance(value, (tuple, list)):
        if value and not isinstance(value[0], (int, float, complex)):  # a list of numbers may be very long
            for item in value:
                mark_all(item)
    elif isinstance(value, dict):
        for item in value.values():
            mark_all(item)
    return value


def run(func: Any, args: tuple, kwargs: dict) -> Any:
    """Run `func` on the memory of the simulated GPU and mark its results. Set by grader.simgpu.ops."""
    raise RuntimeError("grader.simgpu.ops is not imported")


def to_device(t: torch.Tensor) -> SimTensor:
    """A copy of the plain tensor `t` on the simulated GPU: same sizes, strides, offset and storage length."""
    return mark(_same_layout(t))


def to_host(t: torch.Tensor) -> torch.Tensor:
    """A plain CPU copy of `t` with the same sizes, strides, offset and storage length (no autograd)."""
    return _same_layout(plain(t))


def _same_layout(t: torch.Tensor) -> torch.Tensor:
    t = plain(t)
    whole = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())
    copy = whole.clone().as_strided(t.shape, t.stride(), t.storage_offset())
    if t.is_conj():
        copy = copy.conj()
    return copy._neg_view() if t.is_neg() else copy
