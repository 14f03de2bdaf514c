"""Happens-before: the vector clocks of the device's streams and of the host."""

from __future__ import annotations

import itertools
import weakref

_numbers = itertools.count()


class Snapshot:
    """What is ordered before one moment of an agent: for each agent's number, up to which of its epochs."""

    __slots__ = ("clock", "__weakref__")

    def __init__(self, clock: dict[int, int]) -> None:
        self.clock = clock

    def sees(self, agent: Agent, epoch: int) -> bool:
        return self.clock.get(agent.number, 0) >= epoch


class Agent:
    """Somebody who does things in order: a stream of the device, or the host.

    Every snapshot is put into `snapshots`, where it is found for as long as somebody holds it.

    `name` is what learners read. `epoch` counts what it did. `told` is the last epoch that another agent can
    know of: what came after it is so far one to everybody else.
    """

    __slots__ = (
        *("name", "number", "epoch", "clock", "told", "version"),
        *("_snapshot", "_others", "_joined", "_snapshots", "stream_id", "__weakref__"),
    )

    def __init__(self, name: str, snapshots: weakref.WeakSet[Snapshot]) -> None:
        self.name = name
        self._snapshots = snapshots
        self.number = next(_numbers)
        self.epoch = 0
        self.clock: dict[int, int] = {}
        self.told = 0
        self.version = 0  # changes whenever more of another agent's work becomes visible
        self.stream_id: int | None = None
        self._snapshot: Snapshot | None = None
        self._others: tuple[int, dict[int, int]] = (-1, {})
        self._joined: Snapshot | None = None

    def tick(self) -> int:
        """One more thing done; its epoch."""
        self.epoch += 1
        self.clock[self.number] = self.epoch
        self._snapshot = None
        return self.epoch

    def sees(self, agent: Agent, epoch: int) -> bool:
        """Is what `agent` did at `epoch` ordered before what this agent does next?"""
        return self.clock.get(agent.number, 0) >= epoch

    def join(self, snapshot: Snapshot) -> None:
        """Order what this agent does next after all that `snapshot` holds."""
        if snapshot is self._joined:
            return
        self._joined = snapshot
        clock, changed = self.clock, False
        for number, epoch in snapshot.clock.items():
            if clock.get(number, 0) < epoch:
                clock[number] = epoch
                changed = True
        if changed:
            self.version += 1
            self._snapshot = None

    def snapshot(self) -> Snapshot:
        """What is ordered before this moment of the agent."""
        if self._snapshot is None:
            self._snapshot = Snapshot(dict(self.clock))
            self._snapshots.add(self._snapshot)
            self.told = self.epoch
        return self._snapshot

    def others(self) -> dict[int, int]:
        """The clock as it is now, to be kept (one copy for as long as nothing is joined); of this agent
        itself it says nothing.
        """
        version, clock = self._others
        if version != self.version:
            clock = dict(self.clock)
            self._others = (self.version, clock)
        return clock

    def __repr__(self) -> str:
        return f"<{self.name} at {self.epoch}>"
