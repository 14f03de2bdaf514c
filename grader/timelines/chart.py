"""What a timeline holds: bars of the device, spans of the host, and the critical path through both."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Span:
    """What the host did from start to end, in seconds. on: the bar that it waited for, if it waited."""

    name: str
    start: float
    end: float
    line: object = None
    on: Bar | None = None


@dataclass(eq=False)
class Bar:
    """A kernel or a copy on the device, times in seconds.

    kind: "kernel", "h2d" or "d2h". ready: when only `why` could still hold it back. why: what it waited for
    last: "host" (it was launched only then, by `launch`), "stream" (`after` is before it in its stream),
    "event" (it waits for `after`, of another stream), "engine" (the copy engine was at `after`) or "room"
    (`after` filled the device).
    """

    name: str
    stream: str
    kind: str
    start: float
    end: float
    ready: float
    why: str = "host"
    after: Bar | None = None
    launch: Span | None = None
    line: object = None


@dataclass
class Chart:
    """A recorded run. modelled: its times are the simulated GPU's. gpu: the device's name.

    Times count from the beginning of the run. inferred: `why` was concluded from the times, not recorded.
    """

    bars: list[Bar]
    host: list[Span]
    gpu: str
    modelled: bool
    inferred: bool = False
    path: list[Bar | Span] = field(init=False)

    def __post_init__(self) -> None:
        self.path = critical_path(self.bars, self.host)

    @property
    def end(self) -> float:
        """When the last of it was over, in seconds."""
        return max((x.end for x in [*self.bars, *self.host]), default=0.0)

    @property
    def streams(self) -> list[str]:
        """The streams' names: the default one first, the others as they came into use."""
        names = dict.fromkeys(bar.stream for bar in sorted(self.bars, key=lambda b: b.start))
        return sorted(names, key=lambda name: "default" not in name)


def critical_path(bars: list[Bar], host: list[Span]) -> list[Bar | Span]:
    """Return what decided how long the run took, in order of time.

    It begins with the last thing that ended; before each bar comes what it waited for last, before each span
    of the host what it waited for or else the span before it. To make a run shorter, something on this path
    must become shorter or go.
    """
    before = dict(zip((id(span) for span in host[1:]), host, strict=False))
    step: Bar | Span | None = max([*host, *bars], key=lambda x: x.end, default=None)
    path: list[Bar | Span] = []
    while step is not None:
        path.append(step)
        if isinstance(step, Bar):
            step = step.launch if step.why == "host" else step.after
        else:
            step = step.on if step.on is not None else before.get(id(step))
    return path[::-1]
