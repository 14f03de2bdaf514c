"""The picture of a timeline: host and streams as lanes, waits as arrows, the critical path marked."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from grader.display.picture import BLUE, GREEN, GREY, INK, ORANGE, PALE, SKY, VERMILLION, Picture
from grader.display.timeline_groups import Group, groups
from grader.display.timeline_words import NOTHING, in_words, unit_for
from grader.timelines.chart import Bar, Chart, Span

_WIDTH, _ROW = 9.0, 0.62  # inches
_HEIGHT = 0.62  # of a bar, in rows
_CHARACTER = 0.083  # inches that one takes in a label, at most
_TEXT = 10  # points
_HOST = "host"
# kind: face, hatch, ink of its label, what the legend calls it
_LOOKS = {
    "kernel": (GREEN, None, INK, "kernel"),
    "h2d": (SKY, "//", INK, "copy to the device (H2D)"),
    "d2h": (ORANGE, "\\\\", INK, "copy to the host (D2H)"),
    "call": (BLUE, None, "white", "the host's calls"),
    "wait": ("white", "///", INK, "the host waits"),
}
_BLOCKED = {
    "room": ("waits for room", "no room"),
    "engine": ("waits for the copy engine", "copy engine", "engine"),
}


def timeline(chart: Chart) -> Picture:
    """Draw a chart. Its `data` holds the bars and spans with their times in seconds, and the path."""
    scale, unit = unit_for(chart.end)
    rows = {name: -i for i, name in enumerate([_HOST, *chart.streams])}
    figure = Figure(figsize=(_WIDTH, 1.5 + _ROW * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    end = chart.end * scale or 1.0
    axes.set(xlim=(-0.01 * end, 1.03 * end), ylim=(-len(rows) + 0.4, 0.6))
    names = max(len(line) for name in rows for line in _lane(name).split("\n"))
    inches = (_WIDTH - 0.3 - 0.09 * names) / (1.04 * end)  # of one unit of time
    path = {id(step) for step in chart.path}
    drawn = groups(chart, path)
    for row in rows.values():
        axes.axhline(row, color=PALE, lw=1, zorder=0)
    for group in drawn:
        _draw_group(axes, group, rows, scale, inches, 0.003 * end)
    _draw_room(axes, chart.bars, rows, scale, inches)
    _draw_waits(axes, chart, rows, scale, path)
    if not chart.bars:
        middle = {"ha": "center", "va": "center", "transform": axes.transAxes}
        axes.text(0.5, 0.5, NOTHING, fontsize=_TEXT, color=INK, **middle)
    _finish(axes, chart, rows, unit)
    figure.legend(handles=_legend(drawn), loc="outside lower center", ncols=3, fontsize=_TEXT, frameon=False)
    data = {
        "bars": [(b.stream, b.name, b.start, b.end) for b in chart.bars],
        "host": [(s.name, s.start, s.end) for s in chart.host],
        "path": [step.name for step in chart.path],
        "modelled": chart.modelled,
    }
    return Picture(figure, in_words(chart), data)


def _draw_group(axes: Axes, group: Group, rows: dict, scale: float, inches: float, least: float) -> None:
    face, hatch, ink, _ = _LOOKS[group.kind]
    row = rows[group.stream or _HOST]
    start, width = group.start * scale, max((group.end - group.start) * scale, least)
    waits = group.kind == "wait"
    box = (start, row - _HEIGHT / 2), width, _HEIGHT
    hatching, edge, line = ("#c0c0c0", GREY, 0.8) if waits else ("white", "white", 0.8)
    if group.critical and not waits:  # while the host waits, what it waits for is the path
        edge, line = VERMILLION, 2.5
    axes.add_patch(Rectangle(*box, facecolor=face, edgecolor=hatching, hatch=hatch, lw=0))
    axes.add_patch(Rectangle(*box, facecolor="none", edgecolor=edge, lw=line, zorder=2 + (line > 1)))
    label = _that_fits(group.labels, width * inches)
    if label:
        backing = {"facecolor": face, "edgecolor": "none", "pad": 1.5} if hatch else None
        axes.text(
            start + width / 2, row, label, fontsize=_TEXT, color=ink, ha="center", va="center", bbox=backing,
            zorder=4,
        )  # fmt: skip


def _draw_room(axes: Axes, bars: Iterable[Bar], rows: dict, scale: float, inches: float) -> None:
    for bar in bars:
        if bar.why not in ("room", "engine") or bar.start <= bar.ready:
            continue
        start, width = bar.ready * scale, (bar.start - bar.ready) * scale
        row = rows[bar.stream]
        axes.add_patch(
            Rectangle(
                (start, row - 0.2), width, 0.4, facecolor="white", edgecolor=GREY, lw=1, ls=":", zorder=1
            )
        )
        label = _that_fits(_BLOCKED[bar.why], width * inches)
        if label:
            axes.text(start + width / 2, row, label, fontsize=_TEXT, color=GREY, ha="center", va="center")


def _that_fits(labels: Iterable[str], inches: float) -> str | None:
    """The first label that is not wider than this."""
    for label in labels:
        if max(map(len, label.split("\n"))) * _CHARACTER < inches - 0.06:
            return label
    return None


def _draw_waits(axes: Axes, chart: Chart, rows: dict, scale: float, path: set[int]) -> None:
    """Arrows from the end of what was waited for to the start of what waited, between lanes."""
    for bar in chart.bars:
        source: Bar | Span | None = bar.launch if bar.why == "host" else bar.after
        if source is None:
            continue
        critical = id(bar) in path and id(source) in path
        row = rows[_HOST] if isinstance(source, Span) else rows[source.stream]
        if row != rows[bar.stream] and (critical or bar.why in ("event", "room", "engine")):
            _arrow(axes, source.end * scale, row, bar.start * scale, rows[bar.stream], critical)
    for span in chart.host:
        if span.on is not None:
            critical = id(span) in path and id(span.on) in path
            _arrow(axes, span.on.end * scale, rows[span.on.stream], span.end * scale, rows[_HOST], critical)


def _arrow(axes: Axes, x: float, y: float, to_x: float, to_y: float, critical: bool) -> None:
    side = _HEIGHT / 2 if to_y > y else -_HEIGHT / 2
    axes.annotate(
        "", (to_x, to_y - side), (x, y + side), zorder=5,
        arrowprops={
            "arrowstyle": "-|>", "color": VERMILLION if critical else INK, "lw": 2.2 if critical else 1.3,
            "shrinkA": 0, "shrinkB": 0,
        },
    )  # fmt: skip


def _finish(axes: Axes, chart: Chart, rows: dict, unit: str) -> None:
    axes.set_yticks(list(rows.values()), [_lane(name) for name in rows], fontsize=11, color=INK)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=_TEXT)
    axes.set_xlabel(f"time, {unit}", fontsize=_TEXT)
    axes.spines[["top", "right", "left"]].set_visible(False)
    scale, _ = unit_for(chart.end)
    origin = f"modelled, {chart.gpu}" if chart.modelled else f"measured on {chart.gpu}"
    axes.set_title(f"critical path {chart.end * scale:.3g} {unit}", fontsize=11, loc="left", color=INK)
    axes.set_title(origin, fontsize=_TEXT, loc="right", color=GREY)


def _lane(stream: str) -> str:
    return stream.removeprefix("the ").replace(" (", "\n(")


def _legend(drawn: list[Group]) -> list[Patch]:
    used = {group.kind for group in drawn}
    handles = [
        Patch(facecolor=face, hatch=hatch, edgecolor=GREY if face == "white" else "white", label=text)
        for kind, (face, hatch, _, text) in _LOOKS.items()
        if kind in used
    ]
    return [*handles, Patch(facecolor="white", edgecolor=VERMILLION, lw=2.5, label="critical path")]
