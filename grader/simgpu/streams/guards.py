"""Host tensors that the device may still read or write, until the host has waited for that."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable

import torch

from grader.simgpu import order
from grader.simgpu.pinned_views import Views

_UNWATCHED = 64


class _Guarded:
    """The guarded tensors over one storage, weakly, and the work that has to be over: agents with epochs."""

    __slots__ = ("pending", "tensors")

    def __init__(self) -> None:
        self.pending: dict[order.Agent, int] = {}
        self.tensors: dict[int, weakref.ref] = {}

    def alive(self) -> list[torch.Tensor]:
        return [t for t in (ref() for ref in self.tensors.values()) if t is not None]


class Guards:
    """Guarded tensors, by the storages that they share."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._all: dict[int, _Guarded] = {}
        self._sweep_at = _UNWATCHED
        self.views = Views()

    def put(self, key: int, tensors: Iterable[torch.Tensor], kind: type, agent: order.Agent, epoch: int):
        """The plain ones of `tensors`, over the storage `key`, are of the class `kind` until the host has
        waited for `agent`'s `epoch`.
        """
        with self._lock:
            if key not in self._all and len(self._all) >= self._sweep_at:
                self._all = {k: g for k, g in self._all.items() if g.alive()}
                self._sweep_at = max(_UNWATCHED, 2 * len(self._all))
            guarded = self._all.setdefault(key, _Guarded())
            guarded.pending[agent] = epoch
            for t in tensors:
                self._mark(guarded, t, kind)

    def join(self, key: int, t: torch.Tensor, kind: type) -> None:
        """`t` is a new view of the storage `key`: it is guarded if that is."""
        with self._lock:
            guarded = self._all.get(key)
            if guarded is not None:
                self._mark(guarded, t, kind)

    @staticmethod
    def _mark(guarded: _Guarded, t: torch.Tensor, kind: type) -> None:
        if type(t) is not torch.Tensor:
            return
        t.__class__ = kind
        if len(guarded.tensors) >= _UNWATCHED and len(guarded.tensors) & (len(guarded.tensors) - 1) == 0:
            guarded.tensors = {id(a): weakref.ref(a) for a in guarded.alive()}
        guarded.tensors[id(t)] = weakref.ref(t)

    def release(self) -> None:
        """Tensors whose work this thread of the host has waited for are ordinary ones again."""
        if not self._all:
            return
        sees = order.host().sees
        with self._lock:
            for key, guarded in list(self._all.items()):
                guarded.pending = {a: e for a, e in guarded.pending.items() if not sees(a, e)}
                if not guarded.pending:
                    del self._all[key]
                    for t in guarded.alive():
                        t.__class__ = torch.Tensor
