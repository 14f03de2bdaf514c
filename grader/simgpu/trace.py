"""What happened on the simulated GPU: launches, compiles and created kernels, for whoever is recording."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Launch:
    """One kernel run on the device. `bytes_*` count each distinct element once; `numel` is the output's."""

    name: str
    kind: str  # "jiterator" | "torch" | "numba" | "cuda_cpp"
    bytes_read: int
    bytes_written: int
    numel: int


@dataclass(frozen=True)
class Compile:
    """A specialisation (code, dtypes, layout) new to this process; `cached` if it was found on disk."""

    name: str
    code: str
    dtypes: tuple[str, ...]
    cached: bool


@dataclass(frozen=True)
class Create:
    """A call of `_create_jit_fn` or `_create_multi_output_jit_fn`."""

    name: str
    code: str


@dataclass(frozen=True)
class Copy:
    """A copy between host and device. `direction`: "h2d" or "d2h"; `pinned`: is the host's memory?"""

    direction: str
    bytes: int
    pinned: bool
    non_blocking: bool


@dataclass(frozen=True)
class Sync:
    """The host waited for the device. `why`: the call that did; `stream`: whose work it waited for."""

    why: str
    stream: str


@dataclass(frozen=True)
class Sectors:
    """32-byte sectors of memory that the warps of one launch touched, and the fewest that would have done."""

    kernel: str
    loads: int
    stores: int
    ideal_loads: int
    ideal_stores: int


Event = Launch | Compile | Create | Copy | Sync | Sectors


@dataclass
class Trace:
    """The events of one `recording()` block, in order. `fresh`: each specialisation counts as new in it."""

    fresh: bool = False
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        self.events.append(event)

    def _of(self, kind: type) -> list:
        return [e for e in self.events if isinstance(e, kind)]

    @property
    def launches(self) -> list[Launch]:
        return self._of(Launch)

    @property
    def compiles(self) -> list[Compile]:
        return self._of(Compile)

    @property
    def creates(self) -> list[Create]:
        return self._of(Create)

    @property
    def copies(self) -> list[Copy]:
        return self._of(Copy)

    @property
    def syncs(self) -> list[Sync]:
        return self._of(Sync)

    @property
    def sectors(self) -> list[Sectors]:
        return self._of(Sectors)

    @property
    def bytes_read(self) -> int:
        return sum(e.bytes_read for e in self.launches)

    @property
    def bytes_written(self) -> int:
        return sum(e.bytes_written for e in self.launches)


_open: list[
    Trace
] = []  # the recordings that are open now, outermost first; events of all threads go to all of them


takers: list[Callable[[Event], bool]] = []  # captures: each is offered an event first, and may keep it back


def active() -> bool:
    """Does anybody want to hear of events?"""
    return bool(_open or takers)


def current() -> Trace | None:
    """The innermost open recording, if any."""
    return _open[-1] if _open else None


def open_recordings() -> tuple[Trace, ...]:
    """The recordings that are open now, outermost first."""
    return tuple(_open)


def emit(event: Event) -> None:
    """Hand `event` to every open recording."""
    if takers and any(take(event) for take in tuple(takers)):
        return
    for trace in tuple(_open):
        trace.add(event)


@contextlib.contextmanager
def recording(fresh: bool = False) -> Iterator[Trace]:
    """Record the events of all threads while the block runs. Blocks nest: the outer one sees the inner one's
    events.

    `fresh=True` makes the jiterator report a Compile the first time that the block uses a specialisation,
    even if this process compiled it before.
    """
    trace = Trace(fresh)
    _open.append(trace)
    try:
        yield trace
    finally:
        _open[:] = [t for t in _open if t is not trace]  # by identity: two empty traces are equal
