"""What the process knows of the order of its work: the one object behind this package."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from typing import Any

from grader.simgpu import memory
from grader.simgpu.order.blocks import Blocks
from grader.simgpu.order.clocks import Agent, Snapshot
from grader.simgpu.order.findings import Findings
from grader.simgpu.order.history import History
from grader.simgpu.order.records import Op, Write
from grader.simgpu.order.regions import whole

_generations = itertools.count()
_LOG = 4096  # pieces of work that can be done again
_UNWATCHED = 64


class Order:
    """Agents, histories of blocks that are not forgotten, the log of work, and what was found."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.over = threading.Condition(
            self.lock
        )  # told of the end of work while threads are `waiting` for it
        self.waiting = 0
        self.snapshots: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self.host = Agent("the host", self.snapshots)
        self.agents: weakref.WeakSet[Agent] = weakref.WeakSet()
        self.numbers = itertools.count()
        self.log: deque[Op] = deque(maxlen=_LOG)
        self.touched: dict[int, History] = {}  # those with records, by id
        self.open: dict[int, Any] = {}  # work that is being done, by id
        self.findings = Findings()
        self.blocks = Blocks()
        self.syncs = next(_generations) << 32  # counts how often the host waited for anything
        self.added = 0  # bytes of old contents kept since `budget` last counted them
        self.alive = 0  # blocks with records when it last looked for those that are gone
        self._sweep_at = _UNWATCHED

    def new_agent(self, name: str) -> Agent:
        agent = Agent(name, self.snapshots)
        self.agents.add(agent)
        return agent

    def touch(self, history: History) -> None:
        """`history` has records from now on."""
        if not history.listed:
            history.listed = True
            self.touched[id(history)] = history

    def works_here(self) -> bool:
        """Is this thread inside a piece of work?"""
        me = threading.get_ident()
        return any(step.thread == me for step in self.open.values())

    def knowing(self) -> list[Any]:
        """All that can tell two writes apart: agents, and snapshots that somebody may still wait for."""
        return [self.host, *self.agents, *self.snapshots]

    def forget(self) -> bool:
        """Drop what the host knows to be over; True if that was all, the host having waited for everybody."""
        clock = self.host.clock
        if all(clock.get(a.number, 0) >= a.epoch for a in list(self.agents)):
            for history in self.touched.values():
                history.settle()
            self.touched.clear()
            self.log.clear()
            return True
        while self.log and clock.get(self.log[0].agent.number, 0) >= self.log[0].epoch:
            self.log.popleft()
        if len(self.touched) > self._sweep_at:
            for key, history in list(self.touched.items()):
                history.prune(self.host)
                if not history.writes and not history.reads:
                    history.settle()
                    del self.touched[key]
            self._sweep_at = max(_UNWATCHED, 2 * len(self.touched))
        return False

    def born(self, history: History, storage: Any) -> None:
        """`storage`, made while nobody followed the work, gets its `history`."""
        born = storage.__dict__.get("_born")
        if born is None:
            return
        agent, epoch, syncs, line = born
        if syncs == self.syncs:
            history.writes.append(Write.birth(agent, epoch, whole(storage), line))
            self.touch(history)


class _Here:
    """The process's: made anew by `reset`."""

    order = Order()


def order() -> Order:
    return _Here.order


def reset() -> None:
    """Forget everything: agents made before must not be used any more, and downloads have landed."""
    memory.drain()
    before, _Here.order = _Here.order, Order()
    with before.lock:
        for history in before.touched.values():
            history.land_all()
            history.settle()
