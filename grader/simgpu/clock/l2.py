"""Which memory is likely to lie in the second-level cache: what was touched last, while it fits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable


class L2:
    """The most recently touched blocks of memory, by key, up to `capacity` bytes in all."""

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._held: OrderedDict[Hashable, int] = OrderedDict()
        self._used = 0

    def touch(self, key: Hashable, size: int) -> int:
        """Read or write `size` bytes of the block `key`; return how many of them were in the cache."""
        held = self._held
        before = held.pop(key, 0)
        if size > self._capacity:  # it runs through the cache, and leaves nothing of others
            held.clear()
            self._used = 0
            return 0
        kept = size if size > before else before
        held[key] = kept
        self._used += kept - before
        while self._used > self._capacity:
            self._used -= held.popitem(last=False)[1]
        return size if size < before else before
