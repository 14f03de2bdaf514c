"""The modelled device as the rest of the simulated GPU uses it: queue, mark, wait, and the host's time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.simgpu.clock.entries import Cost, Entry, Item, Lane, Mark, Wait
from grader.simgpu.clock.l2 import L2
from grader.simgpu.clock.profiles import Profile
from grader.simgpu.clock.simulation import Simulation

_POLL = 1e-6  # seconds that a look at an unfinished mark takes at least
_PENDING = 1024  # entries that a stream's queue holds; CUDA's launches block beyond about as many


@dataclass(slots=True)
class HostSpan:
    """What the host did from start to end (virtual seconds). on: the item that it waited for, if it did."""

    name: str
    start: float
    end: float
    line: object = None
    on: Item | None = None


@dataclass(slots=True)
class Recording:
    """What ran while a `Device.recording()` block was open. start: the host's time when it was opened."""

    start: float
    items: list[Item] = field(default_factory=list)
    host: list[HostSpan] = field(default_factory=list)


class Device:
    """One GPU in virtual time. All times are seconds since it was made; `host` is the host's own.

    Safe to use from several threads, which share the one host clock.
    """

    def __init__(self, profile: Profile):
        self.profile = profile
        self.host = 0.0
        self.l2 = L2(profile.l2_bytes)
        self.costs: dict[tuple, Cost] = {}  # of operations seen before, for `costs`
        self.threads: set[int] = set()  # of the process, those that have queued something here
        self._simulation = Simulation(profile)
        self._lock = threading.RLock()
        self._recordings: list[Recording] = []

    def lane(self, name: str, priority: int = 0) -> Lane:
        """Return a new, empty queue. priority: lower goes first, as in CUDA."""
        return Lane(name, priority)

    def queue(
        self, lane: Lane, cost: Cost, name: str, kind: str = "torch", engine: str = "compute", line=None
    ) -> Item:
        """Queue work; the host's time moves on by what the call costs it. engine: compute, h2d or d2h.

        Where 1,024 entries stand in the lane, the host waits for one to finish first, as CUDA does.
        """
        with self._lock:
            self._wait_for_a_place(lane)
            self.threads.add(threading.get_ident())
            submitted = self.host
            self.host += cost.host
            item = Item(lane, self.host + self.profile.latency, cost, name, kind, engine, line)
            item.submitted = submitted
            if self._recordings:
                item.span = self._span(f"launch {name}", submitted, self.host, line)
                for recording in self._recordings:
                    recording.items.append(item)
            lane.queued += cost.seconds
            self._simulation.submit(item)
            if cost.host_waits:
                self._host_waits(item, f"waits for {name}", line, 0.0)
            return item

    def mark(self, lane: Lane, host: float | None = None, free: bool = False) -> Mark:
        """Record a point of the lane. host: what the call costs, else what `Event.record` does.

        free: it takes no time, neither the host's nor the device's (edges inside a graph, implied order).
        """
        with self._lock:
            self._wait_for_a_place(lane)
            self._spend("record", self.profile.host.record if host is None else host, free)
            mark = Mark(lane, self._arrival(free), 0.0 if free else self.profile.mark)
            self._simulation.submit(mark)
            return mark

    def wait(self, lane: Lane, mark: Mark, host: float | None = None, free: bool = False) -> None:
        """What is queued on the lane from now on starts only once `mark` is reached. The host goes on."""
        with self._lock:
            self._wait_for_a_place(lane)
            self._spend("wait", self.profile.host.wait if host is None else host, free)
            wait = Wait(lane, self._arrival(free), mark, 0.0 if free else self.profile.wait)
            self._simulation.submit(wait)

    def spend(self, seconds: float, name: str, line=None) -> None:
        """The host is busy for so long: a call that queues nothing, a sleep, a compilation."""
        with self._lock:
            start, self.host = self.host, self.host + seconds
            if self._recordings:
                self._span(name, start, self.host, line)

    def host_waits(self, what: Mark | Item | Lane | None = None, why: str = "synchronize", line=None) -> None:
        """The host waits until `what` is over: a mark, an item, all that is in a lane, or everything."""
        with self._lock:
            self._host_waits(what, why, line, self.profile.host.synchronize)

    def done(self, what: Mark | Item | Lane) -> bool:
        """Whether it is over at the host's present time.

        A look that finds it unfinished costs the host a thousandth of what remains, at least a microsecond:
        so a loop that polls ends soon, and nearly at the right time.
        """
        with self._lock:
            if self.over(what):
                return True
            entry = what.last if isinstance(what, Lane) else what
            remaining = self._simulation.remaining(entry, self.host)
            self.spend(max(_POLL, remaining / 1000), "query")
            return False

    def over(self, what: Mark | Item | Lane) -> bool:
        """Whether it is over at the host's present time. Looking costs nothing."""
        with self._lock:
            entry = what.last if isinstance(what, Lane) else what
            if entry is None or entry.end is not None:
                return True
            self._simulation.advance(self.host)
            return entry.end is not None

    def completed_at(self, what: Mark | Item) -> float:
        """Virtual seconds at which it was over. Raises ValueError while it is not, at the host's time."""
        with self._lock:
            if not self.over(what):
                raise ValueError("not over yet at the host's virtual time: wait for it first")
            return what.end

    def elapsed(self, a: Mark, b: Mark) -> float:
        """Milliseconds from mark a to mark b. Raises ValueError unless both are over."""
        return (self.completed_at(b) - self.completed_at(a)) * 1e3

    @contextlib.contextmanager
    def recording(self) -> Iterator[Recording]:
        """Collect what is queued inside the block, and what the host does. Blocks nest.

        Afterwards the host waits for all that was collected, so that every item has its times.
        """
        with self._lock:
            recording = Recording(self.host)
            self._recordings.append(recording)
            self._simulation.remember += 1
        try:
            yield recording
        finally:
            with self._lock:
                for item in recording.items:
                    self.host = max(self.host, self._simulation.run_until_over(item))
                self._recordings[:] = [r for r in self._recordings if r is not recording]
                self._simulation.remember -= 1

    def _host_waits(self, what: Mark | Item | Lane | None, why: str, line, call: float) -> None:
        """call: seconds that it costs the host beside the waiting."""
        start, last = self.host, None
        for entry in self._simulation.unfinished(what):
            end = self._simulation.run_until_over(entry)
            if end > self.host:
                self.host, last = end, entry
        self.host += call
        if self._recordings and self.host > start:
            self._span(why, start, self.host, line, _work_before(last))

    def _wait_for_a_place(self, lane: Lane) -> None:
        if len(lane.entries) < _PENDING:
            return
        self._simulation.advance(self.host)
        if len(lane.entries) >= _PENDING:
            oldest = lane.entries[len(lane.entries) - _PENDING]
            self._host_waits(oldest, "wait for a place in the queue", None, 0.0)

    def _spend(self, name: str, seconds: float, free: bool) -> None:
        if not free:
            self.spend(seconds, name)

    def _arrival(self, free: bool) -> float:
        return self.host if free else self.host + self.profile.latency

    def _span(self, name: str, start: float, end: float, line, on: Item | None = None) -> HostSpan:
        span = HostSpan(name, start, end, line, on)
        for recording in self._recordings:
            recording.host.append(span)
        return span


def _work_before(entry: Entry | None) -> Item | None:
    """The work whose end made an entry end: the item itself, or what a mark or a wait stands behind."""
    if entry is None or isinstance(entry, Item):
        return entry
    return (entry if isinstance(entry, Mark) else entry.lane).cause[1]
