"""Which storages are on the simulated GPU, and how many bytes they take.

A storage is on the device if its class is SimStorage; it is noted once, when the first tensor over it is
marked, and leaves the ledger when the last tensor over it dies. Sizes are rounded as CUDA's caching allocator
rounds them.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field

import psutil
import torch

from grader.simgpu.profile import H200

_untyped_storage = torch.Tensor.untyped_storage

_BLOCK = 512
_SMALL = 1 << 20  # requests up to here share segments of the small pool
_SMALL_SEGMENT = 2 << 20
_LARGE_SEGMENT = 20 << 20


class SimStorage(torch.UntypedStorage):
    """The bytes of a tensor on the simulated GPU."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)

    @property
    def is_cuda(self) -> bool:
        return True

    def clone(self) -> SimStorage:
        return clone(self)


SimStorage.__name__ = SimStorage.__qualname__ = "UntypedStorage"
SimStorage.__module__ = "torch.storage"


def note(t: torch.Tensor) -> None:
    """Put the storage of the plain tensor `t` on the device, if it is not there yet."""
    try:
        storage = _untyped_storage(t)
    except (
        RuntimeError,
        NotImplementedError,
    ):  # sparse tensors and functorch's wrappers have no storage of their own
        return
    if type(storage) is not SimStorage:
        storage.__class__ = SimStorage
        ledger.allocated(storage)


def is_resident(t: torch.Tensor) -> bool:
    """Does the tensor `t`, whatever its class, lie in memory of the simulated GPU?"""
    try:
        return type(_untyped_storage(t)) is SimStorage
    except (RuntimeError, NotImplementedError):
        return False


def clone(storage: torch.UntypedStorage) -> SimStorage:
    """A copy of `storage` on the device."""
    copy = torch.UntypedStorage(storage.nbytes())
    copy.copy_(storage)
    copy.__class__ = SimStorage
    ledger.allocated(copy)
    return copy


@dataclass
class Pool:
    """Running figures of one pool of the allocator; `reserved` only grows, until the cache is emptied."""

    segment: int
    current: int = 0
    peak: int = 0
    total: int = 0
    count: int = 0
    peak_count: int = 0
    total_count: int = 0
    reserved: int = 0
    peak_reserved: int = 0
    total_reserved: int = 0

    def add(self, size: int) -> None:
        self.current += size
        self.total += size
        self.count += 1
        self.total_count += 1
        self.peak = max(self.peak, self.current)
        self.peak_count = max(self.peak_count, self.count)
        if self.current > self.reserved:
            grown = -(-self.current // self.segment) * self.segment
            self.total_reserved += grown - self.reserved
            self.reserved = grown
            self.peak_reserved = max(self.peak_reserved, grown)

    def remove(self, size: int) -> None:
        self.current -= size
        self.count -= 1

    def trim(self) -> None:
        self.reserved = -(-self.current // self.segment) * self.segment

    def reset_peak(self) -> None:
        self.peak, self.peak_count, self.peak_reserved = self.current, self.count, self.reserved


@dataclass
class Ledger:
    """The bytes of all live storages on the device."""

    small: Pool = field(default_factory=lambda: Pool(_SMALL_SEGMENT))
    large: Pool = field(default_factory=lambda: Pool(_LARGE_SEGMENT))
    peak: int = 0
    _sizes: dict = field(default_factory=dict)  # weak reference -> bytes
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def allocated(self, storage: SimStorage) -> None:
        size = -(-storage.nbytes() // _BLOCK) * _BLOCK
        if not size:
            return
        with self._lock:
            self._sizes[weakref.ref(storage, self._freed)] = size
            self._pool(size).add(size)
            self.peak = max(self.peak, self.current)

    def _freed(self, reference: weakref.ref) -> None:
        with self._lock:
            size = self._sizes.pop(reference)
            self._pool(size).remove(size)

    def _pool(self, size: int) -> Pool:
        return self.small if size <= _SMALL else self.large

    @property
    def current(self) -> int:
        return self.small.current + self.large.current

    @property
    def reserved(self) -> int:
        return self.small.reserved + self.large.reserved

    def empty_cache(self) -> None:
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


ledger = Ledger()


def free_and_total() -> tuple[int, int]:
    """Bytes, as `torch.cuda.mem_get_info` gives them; what this machine has left limits the free ones."""
    free = min(H200.total_memory - ledger.reserved, psutil.virtual_memory().available)
    return max(free, 0), H200.total_memory
