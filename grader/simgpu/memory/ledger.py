"""How many bytes the storages on the device take, counted as CUDA's caching allocator counts them."""

from __future__ import annotations

import bisect
import threading
import weakref
from dataclasses import dataclass, field

import torch

_BLOCK = 512
_SMALL = 1 << 20  # requests up to here share segments of the small pool
_SMALL_SEGMENT = 2 << 20
_LARGE_SEGMENT = 20 << 20
_OWN = 10 << 20  # requests from here on get a segment of their own
_OWN_SEGMENT = 2 << 20  # which is a multiple of this


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step


@dataclass
class Pool:
    """Running figures of one pool of the allocator; `reserved` only grows, until the cache is emptied."""

    segment: int  # bytes of those that several requests share
    current: int = 0
    shared: int = 0  # the bytes of `current` in such segments
    own: int = 0  # bytes of the segments that serve one request each
    peak: int = 0
    total: int = 0
    count: int = 0
    peak_count: int = 0
    total_count: int = 0
    reserved: int = 0
    peak_reserved: int = 0
    total_reserved: int = 0

    def add(self, size: int) -> None:
        self._change(size)
        self.total += size
        self.count += 1
        self.total_count += 1
        self.peak = max(self.peak, self.current)
        self.peak_count = max(self.peak_count, self.count)
        needed = self._needed()
        if needed > self.reserved:
            self.total_reserved += needed - self.reserved
            self.reserved = needed
            self.peak_reserved = max(self.peak_reserved, needed)

    def remove(self, size: int) -> None:
        self._change(size, -1)
        self.count -= 1

    def _change(self, size: int, sign: int = 1) -> None:
        self.current += sign * size
        if size >= _OWN:
            self.own += sign * _rounded(size, _OWN_SEGMENT)
        else:
            self.shared += sign * size

    def _needed(self) -> int:
        return _rounded(self.shared, self.segment) + self.own

    def trim(self) -> None:
        self.reserved = self._needed()

    def reset_peak(self) -> None:
        self.peak, self.peak_count, self.peak_reserved = self.current, self.count, self.reserved


@dataclass
class Ledger:
    """The bytes of all live storages on the device."""

    small: Pool = field(default_factory=lambda: Pool(_SMALL_SEGMENT))
    large: Pool = field(default_factory=lambda: Pool(_LARGE_SEGMENT))
    peak: int = 0
    raw: dict[int, torch.UntypedStorage] = field(
        default_factory=dict
    )  # asked for without a tensor, by address
    _live: dict = field(default_factory=dict)  # StorageImpl's address -> weak reference
    _starts: list | None = None  # (first byte, StorageImpl's address) of all, sorted; made when asked for
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def allocated(self, storage: torch.UntypedStorage) -> None:
        size = _rounded(storage.nbytes(), _BLOCK)
        if not size:
            return
        storage._size = size
        with self._lock:
            self._live[storage._cdata] = weakref.ref(storage)
            self._starts = None
            self._pool(size).add(size)
            self.peak = max(self.peak, self.current)

    def freed(self, storage: torch.UntypedStorage, size: int) -> None:
        with self._lock:
            self._live.pop(storage._cdata, None)
            self._starts = None
            self._pool(size).remove(size)

    def resized(self, storage: torch.UntypedStorage) -> None:
        """PyTorch has given `storage`, which was counted, another size."""
        before = vars(storage).pop("_size", 0)
        if before:
            self.freed(storage, before)
        self.allocated(storage)

    def at(self, pointer: int) -> torch.UntypedStorage | None:
        """The live storage that has the byte at `pointer`."""
        with self._lock:
            if self._starts is None:
                there = [(s.data_ptr(), key) for key, r in self._live.items() if (s := r()) is not None]
                self._starts = sorted(there)
            place = bisect.bisect_right(self._starts, (pointer, 1 << 64)) - 1
            storage = self._live[self._starts[place][1]]() if place >= 0 else None
        if storage is None or pointer >= storage.data_ptr() + storage.nbytes():
            return None
        return storage

    def _pool(self, size: int) -> Pool:
        return self.small if size <= _SMALL else self.large

    @property
    def current(self) -> int:
        return self.small.current + self.large.current

    @property
    def reserved(self) -> int:
        return self.small.reserved + self.large.reserved

    def trim(self) -> None:
        """Reserve no more than is needed."""
        for pool in (self.small, self.large):
            pool.trim()

    def reset_peak(self) -> None:
        self.peak = self.current
        for pool in (self.small, self.large):
            pool.reset_peak()

    def stats(self) -> dict:
        """The nested dictionary of `torch.cuda.memory_stats_as_nested_dict`."""

        def both(current: str, peak: str, total: str, whole_peak: int | None = None) -> dict:
            pools = {}
            for name, pool in (("small_pool", self.small), ("large_pool", self.large)):
                now, made = getattr(pool, current), getattr(pool, total)
                pools[name] = {
                    "current": now,
                    "peak": getattr(pool, peak),
                    "allocated": made,
                    "freed": made - now,
                }
            whole = {k: pools["small_pool"][k] + pools["large_pool"][k] for k in pools["small_pool"]}
            if whole_peak is not None:
                whole["peak"] = whole_peak
            return {"all": whole, **pools}

        allocated = both("current", "peak", "total", self.peak)
        counts = both("count", "peak_count", "total_count")
        reserved = both("reserved", "peak_reserved", "total_reserved")
        segments = {
            name: {
                k: v // (_SMALL_SEGMENT if name == "small_pool" else _LARGE_SEGMENT) for k, v in stat.items()
            }
            for name, stat in reserved.items()
        }
        nothing = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
        none = {"all": nothing, "small_pool": nothing, "large_pool": nothing}
        return {
            "allocation": counts, "segment": segments, "active": counts, "inactive_split": none,
            "allocated_bytes": allocated, "reserved_bytes": reserved, "active_bytes": allocated,
            "inactive_split_bytes": none, "requested_bytes": allocated, "oversize_allocations": nothing,
            "oversize_segments": nothing, "num_alloc_retries": 0, "num_ooms": 0, "num_sync_all_streams": 0,
            "num_device_alloc": segments["all"]["allocated"], "num_device_free": segments["all"]["freed"],
            "max_split_size": -1,
        }  # fmt: skip
