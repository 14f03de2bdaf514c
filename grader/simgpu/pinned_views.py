"""The tensors that learners hold over a pinned storage, to be guarded together while a copy is on its way.

PyTorch does not list them. Those that were pinned, copied or viewed under guard are remembered; where the
storage has more users than that, the garbage collector's list of all objects is searched.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch

from grader.simgpu import memory

_Tensor = torch.Tensor
_users = torch._C._storage_Use_Count
_FREE, _RAREST = 3, 256  # searches that cost nothing; how often one may be skipped between two at most


class Views:
    """What is known of the tensors over each pinned storage, and how often they had to be searched for."""

    def __init__(self) -> None:
        self._searches = 0
        self._skip = 0

    def over(self, storage: Any, t: _Tensor) -> list[_Tensor]:
        """The live tensors over `storage`, `t` and what it is a view of among them.

        Called where simulated tensors are taken for plain ones.
        """
        note(storage, t)
        if t._is_view():
            note(storage, t._base)
        known = _known(storage)
        count = _users(storage._cdata)
        if count - len(known) > storage.__dict__.get("_others", 1) and self._may_search():
            for other in _search(storage):
                note(storage, other)
            known = _known(storage)
            storage._others = count - len(known)
        return known

    def _may_search(self) -> bool:
        """It takes a while: a loop that makes a NumPy array of its buffer must not do it in each round."""
        if self._skip:
            self._skip -= 1
            return False
        self._searches += 1
        if self._searches > _FREE:
            self._skip = min(2 ** (self._searches - _FREE), _RAREST)
        return True


def note(storage: Any, t: _Tensor) -> None:
    """`t` lies in the pinned `storage`."""
    known = storage.__dict__.setdefault("_tensors", {})
    if len(known) > 2 * storage.__dict__.get("_alive", 16):
        storage._tensors = known = {key: ref for key, ref in known.items() if ref() is not None}
        storage._alive = max(16, len(known))
    known[id(t)] = weakref.ref(t)


def _known(storage: Any) -> list[_Tensor]:
    refs = list(storage.__dict__.get("_tensors", {}).values())
    return [t for t in (ref() for ref in refs) if t is not None]


def _search(storage: Any) -> list[_Tensor]:
    found = []
    for item in gc.get_objects():
        if type(item) is _Tensor and item.layout is torch.strided:
            own = memory.storage_of(item)
            if own is not None and own._cdata == storage._cdata:
                found.append(item)
    return found
