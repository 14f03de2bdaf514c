"""What of a timeline is drawn as one box: runs of short, equal work, so that the picture stays readable."""

from __future__ import annotations

from dataclasses import dataclass

from grader.timelines.chart import Bar, Chart, Span

_COPIES = {"h2d": "H2D", "d2h": "D2H"}  # what their boxes are labelled with
_SHORT, _GAP = 0.06, 0.012  # of the whole time: what may be drawn together, and how near it must be


@dataclass
class Group:
    """One box. stream: "" for the host. kind: kernel, h2d, d2h, call or wait. critical: it is on the path."""

    stream: str
    kind: str
    name: str
    start: float
    end: float
    critical: bool
    count: int = 1

    @property
    def labels(self) -> tuple[str, ...]:
        """What may be written in the box, the longest first."""
        if self.kind == "call" and self.count > 1:
            return f"{self.count} calls", f"{self.count}"
        name = _COPIES.get(self.kind, self.name)
        if self.count == 1:
            return (name, "waits") if self.kind == "wait" else (name,)
        return f"{self.count} × {name}", f"{self.count} ×\n{name}", f"{self.count} ×"


def groups(chart: Chart, path: set[int]) -> list[Group]:
    """Return the boxes to draw. path: ids of the bars and spans on the critical path."""
    short, gap = _SHORT * chart.end, _GAP * chart.end
    done: list[Group] = []
    latest: dict[str, Group] = {}
    for piece in sorted([*chart.host, *chart.bars], key=lambda x: x.start):
        new = _group(piece, id(piece) in path)
        last = latest.get(new.stream)
        if last is not None and _together(last, new, short, gap):
            last.end, last.count = max(last.end, new.end), last.count + 1
            last.name = last.name if last.name == new.name else "calls"
        else:
            done.append(new)
            latest[new.stream] = new
    return done


def _group(piece: Bar | Span, critical: bool) -> Group:
    if isinstance(piece, Bar):
        return Group(piece.stream, piece.kind, piece.name, piece.start, piece.end, critical)
    kind = "wait" if piece.on is not None else "call"
    return Group("", kind, piece.name, piece.start, piece.end, critical)


def _together(last: Group, new: Group, short: float, gap: float) -> bool:
    alike = last.kind == new.kind == "call" or (last.kind, last.name) == (new.kind, new.name)
    return (
        alike
        and last.kind != "wait"
        and last.critical == new.critical
        and new.end - new.start < short
        and (last.end - last.start) / last.count < short
        and new.start - last.end < gap
    )
