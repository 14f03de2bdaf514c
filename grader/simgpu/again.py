"""Running a piece of work again on what memory holds then, without holding on to any of that memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.utils._python_dispatch import _disable_current_modes

if TYPE_CHECKING:
    from grader.simgpu.work import Access, Storages

_Tensor = torch.Tensor
_VALUES = {int, float, bool, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format, str}


class _Operand:
    """A tensor argument by where it lies."""

    __slots__ = ("access", "conj", "neg")

    def __init__(self, access: Access, conj: bool, neg: bool):
        self.access, self.conj, self.neg = access, conj, neg

    def tensor(self, storages: Storages) -> _Tensor:
        t = self.access.tensor(storages.get(self.access.key))
        t = torch._conj(t) if self.conj else t
        return torch._neg_view(t) if self.neg else t


class _Draws:
    """A generator argument as it stood when the work ran."""

    __slots__ = ("state",)

    def __init__(self, generator: torch.Generator):
        self.state = generator.get_state()

    def generator(self) -> torch.Generator:
        again = torch._C.Generator()
        again.set_state(self.state)
        return again


class Again:
    """`func(*args, **kwargs)`, to be done again: the `rerun` of a Work.

    `accesses` says where the tensors among the arguments lie, by their ids; other tensors are the host's
    numbers and kept. The results go where `made`, the accesses of the first run's new tensors, say.
    """

    __slots__ = ("args", "func", "kwargs", "made", "seed")

    def __init__(self, func: Any, args: tuple, kwargs: dict, accesses: dict[int, Access], draws: bool):
        self.func = func
        self.args = tuple([v if type(v) in _VALUES else _described(v, accesses) for v in args])
        self.kwargs = _described(kwargs, accesses) if kwargs else kwargs
        self.seed = torch.default_generator.get_state() if draws else None
        self.made: tuple[Access | None, ...] = ()

    def __call__(self, storages: Storages) -> None:
        with _disable_current_modes(), PlainTensors(), torch.no_grad():
            args, kwargs = _rebuilt(self.args, storages), _rebuilt(self.kwargs, storages)
            result = self._run(args, kwargs)
            for access, value in zip(self.made, _leaves(result), strict=False):
                if access is not None:
                    _put(access, value, storages)

    @property
    def draws(self) -> bool:
        """Does it draw random numbers?"""
        return self.seed is not None or any(self._generators())

    def reseed(self, seed: int) -> None:
        """Draw from `seed` from now on."""
        state = torch._C.Generator().manual_seed(seed).get_state()
        if self.seed is not None:
            self.seed = state
        for draws in self._generators():
            draws.state = state

    def _generators(self) -> list[_Draws]:
        return [v for v in (*self.args, *self.kwargs.values()) if isinstance(v, _Draws)]

    def _run(self, args: tuple, kwargs: dict) -> Any:
        if self.seed is None:
            return self.func(*args, **kwargs)
        host = torch.default_generator
        before = host.get_state()
        host.set_state(self.seed)
        try:
            return self.func(*args, **kwargs)
        finally:
            host.set_state(before)


def _put(access: Access, value: _Tensor, storages: Storages) -> None:
    try:
        target = access.tensor(storages.get(access.key))
    except LookupError:
        return  # nobody can look at it any more
    if target.shape == value.shape:
        target.copy_(value)


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for r in result for leaf in _leaves(r)]
    return [result] if isinstance(result, _Tensor) else []


def _described(value: Any, accesses: dict[int, Access]) -> Any:
    if isinstance(value, _Tensor):
        access = accesses.get(id(value))
        return value if access is None else _Operand(access, value.is_conj(), value.is_neg())
    if isinstance(value, (list, tuple)):
        return type(value)([_described(v, accesses) for v in value]) if value else value
    if isinstance(value, dict):
        return {k: _described(v, accesses) for k, v in value.items()} if value else value
    return _Draws(value) if isinstance(value, torch._C.Generator) else value


def _rebuilt(value: Any, storages: Storages) -> Any:
    if isinstance(value, _Operand):
        return value.tensor(storages)
    if isinstance(value, (list, tuple)):
        return type(value)([_rebuilt(v, storages) for v in value]) if value else value
    if isinstance(value, dict):
        return {k: _rebuilt(v, storages) for k, v in value.items()}
    return value.generator() if isinstance(value, _Draws) else value
