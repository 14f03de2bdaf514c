"""The device's events in order of time: what is at the head of each stream, what runs, and how fast."""

from __future__ import annotations

import heapq
from collections import deque

from grader.simgpu.clock.entries import Entry, Item, Lane, Mark, Wait
from grader.simgpu.clock.profiles import Profile
from grader.simgpu.clock.sharing import share

_ENGINES = ("h2d", "d2h")
_NEVER = float("inf")


class Simulation:
    """Runs what is submitted, up to the time that it is asked for. `now` never passes what was asked.

    remember: above 0, items keep the item that they waited for (their chain is never freed then).
    """

    def __init__(self, profile: Profile):
        self.now = 0.0
        self.remember = 0
        self._profile = profile
        self._timers: list[tuple[float, int, object, Entry | Lane]] = []  # time, order, what to do, with what
        self._numbers = 0
        self._kernels: list[Item] = []  # those whose blocks run or wait for room
        self._copies: dict[str, Item | None] = dict.fromkeys(_ENGINES)
        self._copies_waiting: dict[str, deque[Item]] = {engine: deque() for engine in _ENGINES}
        self._shared = True  # rates, and `_running`, fit what runs
        self._running: list[Item] = []  # kernels and copies
        self._made_room: Item | None = None  # the kernel that ended last
        self._busy: dict[Lane, None] = {}  # lanes with something in them

    def submit(self, entry: Entry) -> None:
        """Put an entry at the end of its lane. Its arrival must not lie before `now`."""
        lane = entry.lane
        lane.entries.append(entry)
        lane.last = entry
        if len(lane.entries) == 1:
            self._busy[lane] = None
            self._at(entry.arrived, self._arrive, lane)

    def advance(self, until: float) -> None:
        """Let everything happen that happens up to that time."""
        while (time := self._next()) <= until:
            self._step(time)
        self._run_to(max(until, self.now))

    def run_until_over(self, entry: Entry) -> float:
        """Let everything happen up to the end of `entry`; return its end."""
        while entry.end is None:
            time = self._next()
            if time == _NEVER:
                raise RuntimeError("this event was recorded on a simulated GPU that is switched off")
            self._step(time)
        return entry.end

    def unfinished(self, what: Entry | Lane | None) -> list[Entry]:
        """The last entries that are not over: of a lane, of all lanes for None, or the entry itself."""
        if what is None:
            return [lane.last for lane in self._busy]
        entry = what.last if isinstance(what, Lane) else what
        return [] if entry is None or entry.end is not None else [entry]

    def remaining(self, entry: Entry, now: float) -> float:
        """Roughly the seconds until `entry` is over: of work ahead of it, at least up to the next event."""
        lane, ahead = entry.lane, 0.0
        upto = entry.ahead if isinstance(entry, Mark) else lane.queued
        for _ in range(len(self._busy)):
            ahead += max(upto - lane.finished, 0.0)
            head = lane.entries[0] if lane.entries else None
            if not isinstance(head, Wait) or head.mark.end is not None:
                break
            lane, upto = head.mark.lane, head.mark.ahead
        return max(ahead, self._next() - now)

    # -- the clock

    def _at(self, time: float, action, subject) -> None:
        self._numbers += 1
        heapq.heappush(self._timers, (time, self._numbers, action, subject))

    def _next(self) -> float:
        if not self._shared:
            self._share()
        soonest, now = self._timers[0][0] if self._timers else _NEVER, self.now
        for item in self._running:
            if item.rate > 0:
                end = now + item.left / item.rate
                if end < soonest:
                    soonest = end
        return soonest

    def _step(self, time: float) -> None:
        now, running = self.now, self._running
        over = [i for i in running if i.rate > 0 and now + i.left / i.rate <= time] if running else ()
        self._run_to(time)
        for item in over:
            self._over(item)
        timers = self._timers
        while timers and timers[0][0] <= time:
            _, _, action, subject = heapq.heappop(timers)
            action(subject)

    def _run_to(self, time: float) -> None:
        passed, self.now = time - self.now, time
        if passed > 0:
            for item in self._running:
                left = item.left - passed * item.rate
                item.left = left if left > 0.0 else 0.0

    def _share(self) -> None:
        share(self._kernels)
        for item in self._kernels:
            if item.start is None and item.rate > 0:
                if item.ready_to_run < self.now:
                    self._blame(item, "room", self._made_room)
                    item.start = self.now
                else:
                    item.start = item.taken_up
        copies = [item for item in self._copies.values() if item is not None]
        for item in copies:
            item.rate = self._profile.both_directions if len(copies) == len(_ENGINES) else 1.0
        self._running = [*self._kernels, *copies]
        self._shared = True

    # -- what happens to an entry, in this order

    def _arrive(self, lane: Lane) -> None:
        """The head of the lane has reached the device, and all before it is over."""
        head = lane.entries[0]
        late = head.arrived > lane.free_at  # the lane stood empty
        if late:
            lane.warm, lane.cause = False, ("host", None)
        if isinstance(head, Item):
            self._reach(head)
        elif isinstance(head, Mark) or head.mark.end is not None:
            self._at(self.now + head.takes, self._finish, head)
        else:
            head.mark.waiters.append(head)

    def _reach(self, item: Item) -> None:
        item.ready = self.now
        self._blame(item, *item.lane.cause)
        if item.engine == "compute":
            item.taken_up = self.now + (0.0 if item.lane.warm else self._profile.start_cold)
            self._at(item.taken_up + self._profile.start, self._place, item)
        elif self._copies[item.engine] is None:
            self._transfer(item)
        else:
            self._copies_waiting[item.engine].append(item)

    def _place(self, item: Item) -> None:
        """A kernel's blocks look for room."""
        self._numbers += 1
        item.ready_to_run, item.order = self.now, self._numbers
        self._kernels.append(item)
        self._shared = False

    def _transfer(self, item: Item) -> None:
        self._copies[item.engine] = item
        item.start = self.now
        self._shared = False

    def _over(self, item: Item) -> None:
        self._shared = False
        if item.engine == "compute":
            self._kernels.remove(item)
            self._made_room = item if self.remember else None
        else:
            waiting = self._copies_waiting[item.engine]
            self._copies[item.engine] = None
            if waiting:
                self._blame(waiting[0], "engine", item)
                self._transfer(waiting.popleft())
        item.lane.finished += item.cost.seconds
        item.lane.warm = item.engine == "compute"
        item.lane.cause = ("stream", item if self.remember else None)
        self._finish(item)

    def _finish(self, entry: Entry) -> None:
        entry.end = self.now
        lane = entry.lane
        lane.entries.popleft()
        lane.free_at = self.now
        if not isinstance(entry, Item) and entry.takes:
            lane.warm = False
        if isinstance(entry, Mark):
            entry.cause = lane.cause
            for waiting in entry.waiters:
                if lane.cause[0] != "host":  # the mark itself was not reached because the host came late
                    waiting.lane.cause = ("event", lane.cause[1])
                self._at(self.now + waiting.takes, self._finish, waiting)
            entry.waiters = []
        if lane.entries:
            arrived = lane.entries[0].arrived
            self._at(arrived if arrived > self.now else self.now, self._arrive, lane)
        else:
            del self._busy[lane]

    def _blame(self, item: Item, why: str, after: Item | None) -> None:
        item.why, item.after = why, after if self.remember else None
