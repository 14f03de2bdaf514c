"""Pinned memory of the host: downloads that have not landed, uploads whose source must not change yet.

The real memory holds what the host is guaranteed to see, also through NumPy: a download lands when the host
has waited for it. What the device read is kept until then, and compared: nobody sees NumPy's writes.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from grader.simgpu.order import regions, reruns, turns
from grader.simgpu.order.history import History
from grader.simgpu.order.lines import Line, here
from grader.simgpu.order.records import Op, Read, Write
from grader.simgpu.order.state import Order
from grader.simgpu.order.wording import host_finding


def downloaded(state: Order, history: History, write: Write, result: bytes) -> None:
    """`write` leaves the bytes `result`, once the host has waited for it."""
    history.writes.append(write)
    history.landing[write] = result
    state.added += len(result)
    write.ops[0].writes.append((history, write))


def land(state: Order) -> None:
    """The host knows more to be over: downloads land, and sources of uploads are looked at, as they came."""
    clock = state.host.clock
    waiting = []
    for history in state.touched.values():
        if history.host:
            for item in (*history.writes, *history.reads):
                if clock.get(item.agent.number, 0) >= item.epoch:
                    waiting.append((_op(item).number, history, item))
    for _, history, item in sorted(waiting, key=lambda w: w[0]):
        there = item.access.storage() is not None
        if isinstance(item, Read):
            if there:
                _look(state, history, item, here())
            history.reads.remove(item)
        elif there:
            land_one(state, history, item)


def uploading(history: History, access: Any, op: Op) -> bytes:
    """What `op` read in pinned memory."""
    sees = op.agent.sees
    return history.view(access.low, access.high, lambda w: sees(w.agent, w.epoch), access.dtype)


def _op(item: Read | Write) -> Op:
    return item.op if isinstance(item, Read) else item.ops[0]


def land_one(state: Order, history: History, write: Write) -> None:
    now = history.bytes_at(write.low, write.high)
    if now != write.before and not write.told:
        _report(state, "host_write_early", write, here(), seen=False)
    image = bytearray(now)
    after = history.landing.pop(write)
    history.writes.remove(write)
    write.lay(image, write.low, after)
    history.put(write.low, image)
    write.let_go()
    for other in history.writes:
        other.before = _laid(other, other.before, write, after)
    for read in history.reads:
        read.copy = _laid(read, read.copy, write, after)


def _laid(item: Read | Write, data: bytes, write: Write, after: bytes) -> bytes:
    image = bytearray(data)
    write.lay(image, item.low, after)
    return bytes(image)


def _look(state: Order, history: History, read: Read, line: Line | None) -> None:
    """Has the host changed what `read` uploads? Then it uploads what is there now."""
    now = history.bytes_at(read.low, read.high)
    if now == read.copy:
        return
    if not read.told:
        _report(state, "host_write_early", read, line, seen=False)
    read.copy = now
    if state.open:
        turns.await_all(state)
    reruns.redo(state, [read.op])


def _report(state: Order, kind: str, item: Read | Write, line: Line | None, seen: bool) -> None:
    item.told = True
    state.findings.report(host_finding(kind, item.access, item, line, seen))


# ------------------------------------------------------------------ what PyTorch does on the host


def _in_flight(state: Order, t: torch.Tensor, changing: bool) -> list[tuple[History, Read | Write]]:
    """The copies that may still be on their way from or to the pinned tensor `t`."""
    access = regions.of_pinned(t)
    history = None if access is None else getattr(access.storage(), "_history", None)
    if history is None:
        return []
    items = (*history.writes, *history.reads) if changing else history.writes
    return [
        (history, i)
        for i in items
        if not state.host.sees(i.agent, i.epoch) and regions.overlap(i.access, access)
    ]


def reads(state: Order, t: torch.Tensor) -> None:
    for _, write in _in_flight(state, t, changing=False):
        _report(state, "host_read_early", write, here(), seen=True)


def writes(state: Order, t: torch.Tensor) -> None:
    for _, item in _in_flight(state, t, changing=True):
        if not item.told:
            _report(state, "host_write_early", item, here(), seen=True)


def wrote(state: Order, t: torch.Tensor) -> None:
    """What `t` holds by now is what uploads that may still be on their way bring."""
    for history, item in _in_flight(state, t, changing=True):
        if isinstance(item, Read) and not history.writes:
            _look(state, history, item, here())


def looks(state: Order) -> None:
    """The host asks for a result: what it has changed by now, also through NumPy, is what uploads bring."""
    for history in list(state.touched.values()):
        if history.host and history.reads and not history.writes:
            for read in list(history.reads):
                if not state.host.sees(read.agent, read.epoch) and read.access.storage() is not None:
                    _look(state, history, read, here())


def numpy_view(state: Order, t: torch.Tensor, array: Any) -> None:
    """`array` is a new NumPy view of `t`: if it dies before the host has waited, it was read early.

    Where only a part of it is on its way, the rest may have been meant.
    """
    flying, line = _in_flight(state, t, changing=False), here()
    if not flying:
        return
    access = regions.of_pinned(t)
    coming = sum(min(w.high, access.high) - max(w.low, access.low) for _, w in flying)
    whole = coming >= access.nbytes

    def gone() -> None:
        for history, write in flying:
            if not (write.told or state.host.sees(write.agent, write.epoch)):
                changed = history.bytes_at(write.low, write.high) != write.before
                if changed or whole:
                    kind = "host_write_early" if changed else "host_read_early"
                    _report(state, kind, write, line, seen=True)

    weakref.finalize(array, gone).atexit = False
