"""Copies between the host and the device as work on the current stream, with CUDA's rules of who waits.

A blocking copy makes the host wait for the current stream. With `non_blocking=True` a copy from or to pinned
memory runs while the host goes on: reading its target or changing its source before the device is done is the
learner's mistake. Pageable memory goes through a staging buffer: its source may change at once, and the host
waits for a target. So does a copy that has to convert or to gather on the host first.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import backward_streams, clock, lost, order, pinned, streams, trace, tracking, work
from grader.simgpu.aten import addressed_bytes
from grader.simgpu.streams import debug, waits

_Tensor = torch.Tensor
_untyped_storage = _Tensor.untyped_storage


def upload(
    source: _Tensor,
    copy: Callable[[], _Tensor],
    non_blocking: bool,
    into: _Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> _Tensor:
    """Call `copy`, which copies the host's `source` to the device.

    It copies into the tensor `into`, or makes a new one, of `dtype` if that is not the source's.
    """
    __tracebackhide__ = True
    lost.check()
    if not _has_values(source):
        return copy()
    if not non_blocking:
        debug.check()
    is_pinned = pinned.is_pinned(source)
    flies = bool(non_blocking) and is_pinned
    if not (flies or tracking.wanted()):
        result = copy()
        waits.settled(streams.current())
        return result
    piece = work.Work(
        "Memcpy HtoD",
        "copy",
        streams.current(),
        writes=_regions(into),
        cost=clock.costs.copy(addressed_bytes(source), "h2d", is_pinned, not non_blocking),
        engine="h2d",
        line=order.here(),
    )
    if flies or (is_pinned and piece.stream.capture is None):
        if dtype in (None, source.dtype) if into is None else _direct(into, source):
            piece.reads = _pinned_region(source)
        else:
            order.host_reads(source)  # converts or gathers it first
    with work.on_device(piece):
        result = copy()
        backward_streams.note(result)
        if into is None:
            order.allocated(result, piece.stream)
            piece.writes = _regions(result)
        if piece.reads and piece.writes:
            piece.rerun = _Again(piece.reads[0], piece.writes[0])
    if flies and piece.reads:
        pinned.guard(source, piece.stream)
    _note("h2d", source, is_pinned, non_blocking)
    if not non_blocking:
        waits.waited(piece.stream, "copy to the device")
    return result


def download(source: _Tensor, copy: Callable[[], _Tensor], non_blocking: bool, into: _Tensor | None = None):
    """Call `copy`, which copies `source` from the device to the host: to a new tensor, or into `into`."""
    __tracebackhide__ = True
    if not _has_values(source):
        return copy()
    if not non_blocking:
        debug.check()
    flies = bool(non_blocking) and (into is None or pinned.is_pinned(into))
    if not (flies or tracking.wanted()):
        result = copy()
        waits.settled(streams.current())
        return result
    stream = streams.current()
    piece = work.Work("Memcpy DtoH", "copy", stream, _regions(source), engine="d2h", line=order.here())
    if flies and into is not None:
        flies = _direct(source, into)
        piece.writes = _pinned_region(into) if flies else ()
    if not flies:
        order.host_looks()
    with work.on_device(piece):
        before = _raw(into).clone() if into is not None and flies else None
        result = copy()
        flies = flies and _direct(source, result)
        if into is None and non_blocking:
            pinned.pin(result)
        if flies:
            _leave_for_later(piece, result, before)
        piece.cost = clock.costs.copy(addressed_bytes(source), "d2h", flies, not flies)
    _note("d2h", source, flies or (into is not None and pinned.is_pinned(into)), non_blocking)
    if flies:
        pinned.guard(result, stream)
    else:
        waits.waited(stream, "copy to the host")
    return result


def read_back(source: _Tensor, read: Callable[[], Any], why: str) -> Any:
    """Call `read`, by which the host looks at the values of `source`, because of `why`: a blocking copy."""
    __tracebackhide__ = True
    debug.check()
    if not tracking.wanted():
        value = read()
        waits.settled(streams.current())
        return value
    cost = clock.costs.copy(addressed_bytes(source), "d2h", False, True)
    stream = streams.current()
    piece = work.Work("Memcpy DtoH", "copy", stream, _regions(source), (), cost, "d2h", order.here())
    order.host_looks()
    value = work.run(piece, read)
    waits.waited(stream, why)
    return value


def _leave_for_later(piece: work.Work, result: _Tensor, before: _Tensor | None) -> None:
    """The values arrive in `result` when the copy is done; until then it holds what was there `before`."""
    target = _raw(result)
    values = target.clone()
    if before is None:
        target.untyped_storage().fill_(0 if target.dtype is torch.bool else 0xFF)
    else:
        target.copy_(before)
    piece.writes = piece.writes or _pinned_region(result)
    if piece.stream.capture is not None:
        piece.rerun = _Again(piece.reads[0], piece.writes[0])  # no values yet: each replay brings its own
    else:
        order.download(piece, target, values)


def _raw(t: _Tensor) -> _Tensor:
    """A plain tensor over `t`'s memory, without its history and its version."""
    with PlainTensors():
        return torch.empty(0, dtype=t.dtype, device="cpu").set_(
            t.untyped_storage(), t.storage_offset(), t.size(), t.stride()
        )


def _regions(t: _Tensor | None) -> tuple[work.Access, ...]:
    access = None if t is None else work.Access.of(t)
    return () if access is None else (access,)


def _pinned_region(t: _Tensor) -> tuple[work.Access, ...]:
    """The same of pinned memory, whichever storage of PyTorch's `t` sees it through."""
    with PlainTensors():
        storage, (access,) = pinned.owner(t), _regions(t)
        if storage is None or storage._cdata == access.key:
            return (access,)
        moved = t.data_ptr() - storage.data_ptr() - access.low
        return (
            dataclasses.replace(
                access,
                key=storage._cdata,
                storage=weakref.ref(storage),
                low=access.low + moved,
                high=access.high + moved,
                offset=access.offset + moved // t.element_size(),
            ),
        )


def _direct(a: _Tensor, b: _Tensor) -> bool:
    """Can one memory be copied to the other as it is, without converting or gathering on the host first?"""
    with PlainTensors():
        if (
            a.dtype != b.dtype
            or a.size() != b.size()
            or a.is_conj() != b.is_conj()
            or a.is_neg() != b.is_neg()
        ):
            return False
        if a.is_contiguous() and b.is_contiguous():
            return True
        return a.stride() == b.stride() and torch.ops.aten.is_non_overlapping_and_dense.default(a)


def _has_values(t: _Tensor) -> bool:
    """Is there memory to be copied? Not that of empty tensors, lazy parameters, sparse or wrapped tensors."""
    with PlainTensors():
        try:
            return bool(_untyped_storage(t).nbytes() and t.numel())
        except (RuntimeError, NotImplementedError):
            return False


def _note(direction: str, source: _Tensor, is_pinned: bool, non_blocking: bool) -> None:
    if trace.active():
        trace.emit(trace.Copy(direction, addressed_bytes(source), is_pinned, bool(non_blocking)))


class _Again:
    """A copy from pinned memory, to be done again."""

    __slots__ = ("source", "target")

    def __init__(self, source: work.Access, target: work.Access):
        self.source, self.target = source, target

    def __call__(self, storages: work.Storages) -> None:
        source = self.source.tensor(storages.get(self.source.key))
        with PlainTensors(), torch.no_grad():
            self.target.tensor(storages.get(self.target.key)).copy_(source)
