"""The door: every piece of work of the simulated GPU, of every kind, is queued on a stream here.

An operation's values are computed at once, in the order of the program. What a real GPU might have done
instead is `order`'s to say (which contents each read is guaranteed to see, what is not ordered), when it
would have done it `clock`'s. While nothing can be out of order (`tracking()` is False) work need not come
through here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import clock, memory, order, streams
from grader.simgpu.streams.state import StreamState
from grader.simgpu.streams.state import device as _device
from grader.simgpu.streams.waits import host_sync

__all__ = ["Access", "Storages", "Work", "host_sync", "on_device", "run", "sleep", "tracking"]

_untyped_storage = torch.Tensor.untyped_storage


@dataclass(slots=True, eq=False)
class Access:
    """Bytes [low, high) of a storage that work reads or writes, and the tensor through which it does.

    `storage` refers weakly to it and `key` is its number while it lives. `strides` and `offset` count
    elements, as a tensor's; a region of raw memory is a tensor of bytes. `nbytes`: of the distinct elements
    in it.
    """

    key: int
    low: int
    high: int
    storage: weakref.ref
    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    nbytes: int

    @classmethod
    def of(cls, t: torch.Tensor) -> Access | None:
        """What the strided tensor `t` addresses; None if it has no memory of its own (sparse, wrapped)."""
        with PlainTensors():
            try:
                return cls.over(t, _untyped_storage(t))
            except (RuntimeError, NotImplementedError):
                return None

    @classmethod
    def over(cls, t: torch.Tensor, storage: torch.UntypedStorage) -> Access:
        """The same of `t` over `storage`, where simulated tensors are taken for plain ones."""
        shape, strides, offset, size = t.shape, t.stride(), t.storage_offset(), t.element_size()
        low = offset * size
        if t.is_contiguous():
            nbytes = t.numel() * size
            high = low + nbytes
        else:
            last, count = offset, 1
            for n, step in zip(shape, strides, strict=True):
                last += (n - 1) * step
                count *= n if step else 1
            high, nbytes = (last + 1) * size, count * size
        return cls(storage._cdata, low, high, weakref.ref(storage), t.dtype, shape, strides, offset, nbytes)

    @classmethod
    def of_memory(cls, pointer: int, nbytes: int) -> Access | None:
        """Device or pinned memory by its address; None if no storage lies there."""
        storage = memory.storage_at(pointer)
        if storage is None:
            return None
        low = pointer - storage.data_ptr()
        return cls(
            storage._cdata, low, low + nbytes, weakref.ref(storage), torch.uint8, (nbytes,), (1,), low, nbytes
        )

    def tensor(self, storage: torch.UntypedStorage | None = None) -> torch.Tensor:
        """A plain tensor over the same region: of its storage, or of `storage` in its stead.

        Raises LookupError if the storage is gone.
        """
        storage = self.storage() if storage is None else storage
        if storage is None:
            raise LookupError("the memory of this tensor has been freed")
        with PlainTensors():
            empty = torch.empty(0, dtype=self.dtype, device="cpu")
            return empty.set_(storage, self.offset, self.shape, self.strides)


Storages = dict[
    int, torch.UntypedStorage
]  # in a rerun: memory to use in place of an access's own, by its key


@dataclass(slots=True, eq=False)
class Work:
    """A kernel, a copy or a fill on its way to the device.

    `kind`: "torch", "jiterator", "numba", "cuda_cpp", "copy", "fill", "sleep" or "graph"; `engine`:
    "compute", "h2d" or "d2h". A region that is both read and written is in `reads` and in `writes`; tensors
    that the work makes are added to `writes` when it has run. `line`: the learner's. `rerun(storages)` does
    the work again on what memory holds then, and writes into the memory it wrote the first time (LookupError
    if that is gone); it holds no reference to any of its operands. None: it cannot be done again.
    """

    name: str
    kind: str
    stream: StreamState
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    cost: clock.Cost | None = None
    engine: str = "compute"
    line: order.Line | None = None
    rerun: Callable[[Storages], None] | None = None
    item: clock.Item | None = None  # when it runs, once it is queued


def tracking() -> bool:
    """Does work have to come through the door now?

    It does while a Stream or an Event object lives, while the host has not waited for what it queued, and
    while somebody watches (captures a graph, records times).
    """
    device = _device()
    return bool(device.held or device.busy or device.watchers)


class on_device:
    """`with on_device(work):` the block computes `work`'s values, while memory holds what its stream sees."""

    __slots__ = ("work",)

    def __init__(self, work: Work):
        self.work = work

    def __enter__(self) -> Work:
        work = self.work
        stream = work.stream
        if stream.capture is not None:
            stream.capture.enter(work)
            return work
        if stream.blocking:
            streams.follow_legacy_rule(stream)
        order.submitted(stream)
        order.before(work)
        return work

    def __exit__(self, kind: type | None, *_: Any) -> None:
        work = self.work
        stream = work.stream
        if stream.capture is not None:
            stream.capture.leave(work, kind is not None)
            return
        order.after(work)
        if kind is not None:
            return
        work.item = clock.device().queue(stream.lane, work.cost, work.name, work.kind, work.engine, work.line)
        stream.queued += 1
        _device().busy[stream] = stream.queued


def run(work: Work, body: Callable[[], Any]) -> Any:
    """Queue `work`, whose values `body()` computes; returns what `body` returns."""
    with on_device(work):
        return body()


def sleep(cycles: int) -> None:
    """`torch.cuda._sleep`: a kernel that spins for so many cycles."""
    run(
        Work("sleep", "sleep", streams.current(), cost=clock.costs.sleep(cycles), line=order.here()), _nothing
    )


def _nothing() -> None:
    """A spin kernel computes nothing."""


def patches():
    yield torch._C, "_cuda_sleep", sleep
