"""What the numba part of the simulated GPU keeps for the whole process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from grader.simgpu.numba.sites import Sites


@dataclass
class State:
    """`sites` stays for good: code that is compiled speaks of them. The rest is forgotten by `reset`.

    `memory`: tensors behind numba's device and pinned memory, by address. `events`: by handle. `undo`: what
    the
    patches replaced, oldest first. `hook`: what waits for numba.cuda to be imported, while it is installed.
    `launching`: held while a kernel runs, which has one place for its dynamic shared memory's size and its
    prints.
    """

    sites: Sites = field(default_factory=Sites)
    memory: dict[int, Any] = field(default_factory=dict)
    events: dict[int, Any] = field(default_factory=dict)
    undo: list[tuple[Any, str, Any]] = field(default_factory=list)
    hook: Any = None
    launching: threading.RLock = field(default_factory=threading.RLock)

    def reset(self) -> None:
        self.memory.clear()
        self.events.clear()


state = State()
