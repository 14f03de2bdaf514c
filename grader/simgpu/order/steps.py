"""A piece of work while it runs."""

from __future__ import annotations

from threading import get_ident
from typing import Any

from grader.simgpu.order.history import History
from grader.simgpu.order.records import Op, Read


class Step:
    """Work between `before` and `after`."""

    __slots__ = ("op", "thread", "given", "prepared", "saved", "swapped", "unordered", "late", "coming")

    def __init__(self, op: Op, given: tuple) -> None:
        self.op, self.given = op, given  # the writes that were known before it ran
        self.thread = get_ident()
        self.prepared: list[tuple[Any, History, bytes | None]] = []  # writes, and what they overwrite
        self.saved: list[tuple[History, int, bytes]] = []  # what has to be put back
        self.swapped: set[int] | tuple = ()  # histories (ids) whose memory shows older contents meanwhile
        self.unordered: set[int] | tuple = ()  # writes (ids of accesses) that go before an earlier one
        self.coming: tuple[Any, bytes, bytes] | None = None  # a download: where to, what is there, what comes
        self.late: list[tuple[History, Any, Read]] = []  # reads that this work may overtake
