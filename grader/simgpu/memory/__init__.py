"""Which storages are on the simulated GPU, and how many bytes they take.

A storage is on the device if its class is SimStorage; it is noted once, when the first tensor over it is
marked, and leaves the ledger when the last tensor over it dies. Sizes are rounded as CUDA's caching allocator
rounds them.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil
import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import clock
from grader.simgpu.gputrace import calls, tell
from grader.simgpu.memory.ledger import Ledger

LARGE = 1 << 20  # bytes of a block that waits for its next use when it is freed, as smaller ones do in malloc
_untyped_storage = torch.Tensor.untyped_storage
dead: deque[SimStorage] = deque()  # whose last tensor is gone, and which nobody has looked at yet


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

    def resize_(self, size: int) -> SimStorage:
        drain()
        result = super().resize_(size)
        ledger.resized(self)
        return result

    # `dead.append(self)`, and no line of Python: one that runs in a finaliser may swallow a Ctrl-C.
    __del__ = property(functools.partial(types.MethodType, dead.append))


SimStorage.__name__ = SimStorage.__qualname__ = "UntypedStorage"
SimStorage.__module__ = "torch.storage"


def storage_of(t: torch.Tensor) -> torch.UntypedStorage | None:
    """The storage of `t`; None for sparse tensors and functorch's wrappers, which have none of their own."""
    try:
        return _untyped_storage(t)
    except (RuntimeError, NotImplementedError):
        return None


def note(t: torch.Tensor) -> None:
    """Put the storage of the plain tensor `t` on the device, if it is not there yet."""
    if dead:
        drain()
    storage = storage_of(t)
    if storage is None:
        return
    if type(storage) is not SimStorage and not t._is_zerotensor():  # which has no memory
        settle(storage)
        storage._born = followers.born()


def reserve(t: torch.Tensor) -> None:
    """The same for memory that no kernel has written yet."""
    note(t)
    with PlainTensors():
        _untyped_storage(t)._born = None


def record_stream(t: torch.Tensor, stream: Any) -> None:
    """`t` is also used on `stream` (a StreamState): its block is not used again before that is over."""
    followers.recorded(t, stream)


def settle(storage: torch.UntypedStorage) -> None:
    """The plain `storage` is on the device from now on."""
    storage.__class__ = SimStorage
    ledger.allocated(storage)


def drain() -> None:
    """Look at the storages that have died since the last piece of work."""
    while dead:
        try:
            storage = dead.popleft()
        except IndexError:  # another thread took it
            return
        _freed(storage)


def _freed(storage: SimStorage) -> None:
    """The last tensor over `storage` is gone. Whoever still has to follow its memory may keep it."""
    members = vars(storage)
    size = members.pop("_size", 0)
    if size:
        if calls.MemoryDeallocationCallbacks.callback_list:
            tell(calls.MemoryDeallocationCallbacks, storage.data_ptr())
        ledger.freed(storage, size)
    history = members.get("_history")
    if size >= LARGE or (history is not None and (history.listed or history.used_on)):
        followers.buried(storage)


def raw_alloc(nbytes: int, stream: Any = 0) -> int:
    """`torch.cuda.caching_allocator_alloc`: the address of `nbytes` of memory, kept until it is deleted."""
    drain()
    storage = torch.UntypedStorage(nbytes)
    settle(storage)
    ledger.raw[storage.data_ptr()] = storage
    return storage.data_ptr()


def raw_delete(pointer: int) -> None:
    """`torch.cuda.caching_allocator_delete`. Raises RuntimeError for an address that is not one of those."""
    if ledger.raw.pop(pointer, None) is None:
        raise RuntimeError(f"invalid device pointer: {pointer:#x}")


@dataclass
class Followers:
    """Who follows what happens to memory: `order` puts itself here."""

    born: Callable[[], Any] = lambda: None  # what to remember of a storage that is made now
    buried: Callable[[SimStorage], None] = lambda storage: None  # a storage whose memory is still followed
    recorded: Callable[[torch.Tensor, Any], None] = lambda t, stream: None  # record_stream
    emptied: Callable[[], None] = lambda: None  # the cache is emptied


followers = Followers()


def storage_at(pointer: int) -> SimStorage | None:
    """The live storage on the device in which the address `pointer` lies."""
    drain()
    return ledger.at(pointer)


def is_resident(t: torch.Tensor) -> bool:
    """Does the tensor `t`, whatever its class, lie in memory of the simulated GPU?"""
    return type(storage_of(t)) is SimStorage


def clone(storage: torch.UntypedStorage) -> SimStorage:
    """A copy of `storage` on the device."""
    drain()
    copy = torch.UntypedStorage(storage.nbytes())
    copy.copy_(storage)
    settle(copy)
    return copy


ledger = Ledger()


def counted() -> Ledger:
    """The ledger as it is now, without what has just been freed."""
    drain()
    return ledger


def empty_cache() -> None:
    """`torch.cuda.empty_cache()`: memory that nobody uses goes back to the machine."""
    drain()
    followers.emptied()
    ledger.trim()


def free_and_total() -> tuple[int, int]:
    """Bytes, as `torch.cuda.mem_get_info` gives them; what this machine has left limits the free ones."""
    total = clock.device().profile.properties.total_memory
    free = min(total - counted().reserved, psutil.virtual_memory().available)
    return max(free, 0), total
