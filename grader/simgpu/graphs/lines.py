"""Lines of work that a graph replays: what the learner has to look at is the replay, and what it replays."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.simgpu.order.lines import Line


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """One replay, asked for at `line`."""

    line: Line | None

    def of(self, captured: Line | None) -> Line | None:
        """The line of work that was captured at `captured` and is replayed now."""
        if captured is None or self.line is None:
            return captured or self.line
        return ReplayLine(self.line.file, self.line.number, captured, self)


@dataclass(frozen=True, slots=True)
class ReplayLine(Line):
    """The line of a `replay`, and the `captured` one that asked for the work."""

    captured: Line
    replay: Replay = field(compare=False)

    @property
    def text(self) -> str:
        return f"{Line.text.fget(self)} {self.captured.text}"

    def within(self, other: Line | None) -> Line:
        return self.captured if isinstance(other, ReplayLine) and other.replay is self.replay else self

    def __str__(self) -> str:
        return f"line {self.number}: `{Line.text.fget(self)}` (in the graph {self.captured})"
