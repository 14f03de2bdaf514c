"""What stands in a stream's queue: work, marks (recorded events) and waits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work takes. All but `host` hold for the device with nothing else on it.

    seconds: from its first block to its last; for a copy, its transfer. room: the share of the device's
    multiprocessors that its blocks fill, 0 to 1. bandwidth: the share of the memory bandwidth that it draws,
    0 to 1. host: seconds that the call costs the host. waves: rounds of blocks; only above 1 can blocks of a
    stream with a higher priority come in between. host_waits: the call returns when the work is done.
    """

    seconds: float
    room: float = 0.0
    bandwidth: float = 0.0
    host: float = 0.0
    waves: float = 1.0
    host_waits: bool = False


class Entry:
    """Something in a lane's queue. arrived, end: virtual seconds; end is None until it is over."""

    __slots__ = ("lane", "arrived", "end")

    def __init__(self, lane: Lane, arrived: float):
        self.lane, self.arrived, self.end = lane, arrived, None


class Item(Entry):
    """A kernel or a copy in its lane.

    submitted: when the host called; ready: when its stream came to it; start: when the device took it up (a
    kernel that had to wait for room: when its first block ran); end: when its last block or byte was done.
    why: what it waited for last before it started: "host" (it was launched only then), "stream" (what is
    before it in its stream), "event" (a wait for another stream), "engine" (the copy engine was busy) or
    "room" (the device was full); after: the item that it waited for, while a recording is open. span: the
    host's call, likewise.
    """

    __slots__ = (
        "name", "kind", "engine", "cost", "line", "submitted", "ready", "start", "why", "after", "span",
        "left", "grant", "rate", "order", "taken_up", "ready_to_run",
    )  # fmt: skip

    def __init__(self, lane: Lane, arrived: float, cost: Cost, name: str, kind: str, engine: str, line):
        super().__init__(lane, arrived)
        self.cost, self.name, self.kind, self.engine, self.line = cost, name, kind, engine, line
        self.submitted = self.ready = self.start = self.after = self.span = None
        self.why = "host"
        self.left, self.grant, self.rate, self.order = cost.seconds, 0.0, 0.0, 0
        self.taken_up = self.ready_to_run = 0.0

    def __repr__(self) -> str:
        return f"<{self.name} on {self.lane.name}, {self.start} to {self.end} s>"


class Mark(Entry):
    """A point in a lane's queue, reached when all before it is done. waiters: waits of other lanes for it."""

    __slots__ = ("takes", "waiters", "ahead", "cause")

    def __init__(self, lane: Lane, arrived: float, takes: float):
        super().__init__(lane, arrived)
        self.takes, self.waiters, self.ahead = takes, [], lane.queued
        self.cause: Cause = ("host", None)


class Wait(Entry):
    """What is behind it in its lane starts only once `mark` is reached."""

    __slots__ = ("mark", "takes")

    def __init__(self, lane: Lane, arrived: float, mark: Mark, takes: float):
        super().__init__(lane, arrived)
        self.mark, self.takes = mark, takes


Cause = tuple[str, Item | None]  # why a lane came free only when it did, and the item that it waited for


class Lane:
    """One stream's queue: in order, one entry after another. Made by `Device.lane`.

    priority: lower goes first, as in CUDA. queued, finished: seconds of work ever queued and finished.
    """

    __slots__ = ("name", "priority", "entries", "queued", "finished", "last", "warm", "cause", "free_at")

    def __init__(self, name: str, priority: int):
        self.name, self.priority = name, priority
        self.entries: deque[Entry] = deque()
        self.queued = self.finished = self.free_at = 0.0
        self.last: Entry | None = None
        self.warm = False  # its last entry was a kernel, behind which the next one starts sooner
        self.cause: Cause = ("host", None)

    def __repr__(self) -> str:
        return f"<lane {self.name}: {len(self.entries)} waiting>"
