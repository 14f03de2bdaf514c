"""Which host memory is pinned, by address: NumPy arrays and other tensors over it are pinned too."""

from __future__ import annotations

import bisect
import threading
import weakref

import torch


class PinnedStorage(torch.UntypedStorage):
    """Host memory that the device can read and write by itself."""

    def clone(self) -> torch.UntypedStorage:
        """A copy in pageable memory, as PyTorch makes it of pinned memory."""
        return torch.UntypedStorage(self.nbytes()).copy_(self)


PinnedStorage.__name__ = PinnedStorage.__qualname__ = "UntypedStorage"
PinnedStorage.__module__ = "torch.storage"


class _Pool:
    """The pinned storages that live, sorted by their addresses."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._starts: list[int] = []
        self._storages: dict[int, weakref.ref] = {}

    def add(self, storage: torch.UntypedStorage) -> None:
        start = storage.data_ptr()
        storage.__class__ = PinnedStorage
        if not storage.nbytes():
            return
        with self._lock:
            if start not in self._storages:
                bisect.insort(self._starts, start)
            self._storages[start] = weakref.ref(storage, lambda _: self._remove(start))

    def _remove(self, start: int) -> None:
        with self._lock:
            if self._storages.get(start, _gone)() is None:
                del self._storages[start]
                self._starts.remove(start)

    def at(self, pointer: int) -> PinnedStorage | None:
        with self._lock:
            place = bisect.bisect_right(self._starts, pointer) - 1
            storage = self._storages[self._starts[place]]() if place >= 0 else None
        if storage is None or pointer >= storage.data_ptr() + storage.nbytes():
            return None
        return storage


def _gone() -> None:
    return None


_pool = _Pool()


def pin(storage: torch.UntypedStorage) -> None:
    """`storage` is pinned from now on."""
    _pool.add(storage)


def storage_at(pointer: int) -> PinnedStorage | None:
    """The pinned storage in which the address `pointer` lies, if it does in any."""
    return _pool.at(pointer)
