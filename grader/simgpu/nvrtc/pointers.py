"""Memory that a kernel reaches by pointers that are no arguments: of a table, in a struct, from before."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

import numpy as np

from grader.simgpu import memory, pinned_pool
from grader.simgpu.grid.runtime import Memory

_LOWEST, _HIGHEST = 1 << 16, 1 << 47  # addresses of a process


class Pointers:
    """Where the pointers of one launch lead.

    anywhere: the kernel's file has variables, which may hold pointers from earlier launches; values: of the
    arguments that are no tensors; blocks: the memory [low, high) of those that are.
    """

    def __init__(self, anywhere: bool, values: Iterable[bytes], blocks: Sequence[Memory]) -> None:
        self._anywhere = anywhere
        self._values = list(values)
        self._known: list[np.ndarray] = []
        self._unread = list(blocks)

    def memory_at(self, address: int, size: int) -> Memory | None:
        """The tensor's memory at `address`, if one is there and the kernel can know a pointer into it."""
        storage = memory.storage_at(address) or pinned_pool.storage_at(address)
        if storage is None:
            return None
        found = Memory(storage.data_ptr(), storage.data_ptr() + storage.nbytes())
        if address + size > found.high or not (self._anywhere or self._leads_into(found)):
            return None
        self._unread.append(found)
        return found

    def _leads_into(self, block: Memory) -> bool:
        if not self._known:
            self._known.append(_addresses(b"".join(v + bytes(-len(v) % 8) for v in self._values)))
        if any(_has_one_in(block, known) for known in self._known):
            return True
        while self._unread:
            self._known.append(_read(self._unread.pop(0)))
            if _has_one_in(block, self._known[-1]):
                return True
        return False


def _read(block: Memory) -> np.ndarray:
    low = -(-block.low // 8) * 8
    return _addresses((ctypes.c_char * max((block.high - low) // 8 * 8, 0)).from_address(low))


def _addresses(content) -> np.ndarray:
    """The words that may be addresses, sorted."""
    words = np.frombuffer(content, np.uint64)
    return np.unique(words[(words >= _LOWEST) & (words < _HIGHEST)])


def _has_one_in(block: Memory, addresses: np.ndarray) -> bool:
    first, last = np.searchsorted(addresses, np.array([block.low, block.high], np.uint64))
    return bool(first < last)
