"""Doing work again: what read memory that later work may overwrite in time, and all that follows."""

from __future__ import annotations

import heapq
from typing import Any

from grader.simgpu.order import regions
from grader.simgpu.order.history import History
from grader.simgpu.order.records import Op, Write
from grader.simgpu.order.state import Order

_MOST_TIMES = 8  # for one piece of work: mistakes that depend on each other in a circle have no end


class _Again:
    """The work to be done again, in the order in which it was queued."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Op]] = []
        self._waiting: set[int] = set()
        self._times: dict[int, int] = {}

    def add(self, op: Op) -> None:
        if op.number in self._waiting or self._times.get(op.number, 0) >= _MOST_TIMES:
            return
        self._waiting.add(op.number)
        self._times[op.number] = self._times.get(op.number, 0) + 1
        heapq.heappush(self._heap, (op.number, op))
        for _, write in op.writes:  # writes that count as one are done again as one
            for other in write.ops or ():
                self.add(other)

    def pop(self) -> Op | None:
        if not self._heap:
            return None
        number, op = heapq.heappop(self._heap)
        self._waiting.discard(number)
        return op


def redo(state: Order, ops: list[Op]) -> None:
    """Do `ops` again on what they may see by now, and then what read their results."""
    again = _Again()
    for op in ops:
        again.add(op)
    original: dict[Write, bytes] = {}
    while (op := again.pop()) is not None:
        if not _possible(op):
            continue
        for history, write in op.writes:
            if write.ops[0] is op:
                original[write] = history.left(write)
                if len(write.ops) > 1:
                    history.replace(write, write.was())
        results = _run(op)
        if results is None:
            continue
        for (history, write), result in zip(op.writes, results, strict=True):
            history.replace(write, result)
            if write.ops[-1] is op and history.left(write) != original.get(write):
                _followers(state, op, history, write, again)


def _possible(op: Op) -> bool:
    if op.work.rerun is None:
        return False
    known = all(write.ops is not None and write in history.writes for history, write in op.writes)
    return known and all(_remembers(a, op) for a in (*op.work.reads, *op.work.writes))


def _remembers(access: Any, op: Op) -> bool:
    """Can the contents of that memory at the time of `op` still be put together?"""
    storage = access.storage()
    history = getattr(storage, "_history", None)
    return storage is not None and (history is None or op.number >= history.since)


def _run(op: Op) -> list[bytes] | None:
    """The bytes that `op` leaves for each of its writes, when it runs on what it may see by now."""
    places: list[tuple[History, int, int, Any]] = [(h, w.low, w.high, w.access.dtype) for h, w in op.writes]
    for access in op.work.reads:
        history = getattr(access.storage(), "_history", None)
        if history is not None:
            places.append((history, access.low, access.high, access.dtype))
    saved = [(h, low, h.bytes_at(low, high)) for h, low, high, _ in places]
    views = [h.view(low, high, op.sees, dtype) for h, low, high, dtype in places]
    for (history, low, _, _), view in zip(places, views, strict=True):
        history.put(low, view)
    try:
        op.work.rerun({})
        return [history.bytes_at(write.low, write.high) for history, write in op.writes]
    except LookupError:  # memory that it needs is gone: its results stay as they are
        return None
    finally:
        for history, low, data in reversed(saved):
            history.put(low, data)


def _followers(state: Order, op: Op, history: History, write: Write, again: _Again) -> None:
    """Add the work that read what `write` left."""
    for other in state.log:
        if other is not op and other.sees(write):
            for access in other.work.reads:
                mine = getattr(access.storage(), "_history", None)
                if mine is history and regions.overlap(access, write.access):
                    again.add(other)
                    break
