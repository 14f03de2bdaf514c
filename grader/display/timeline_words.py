"""A timeline in words: what the picture shows, and a table of all of it."""

from __future__ import annotations

from itertools import groupby

from grader.timelines.chart import Bar, Chart, Span

NOTHING = "nothing ran on the GPU"
_ROWS = 60  # that a table shows at most


def unit_for(seconds: float) -> tuple[float, str]:
    """Return the factor from seconds to the unit that reads best for such a time, and its name."""
    if seconds < 1e-3:
        return 1e6, "microseconds"
    return (1e3, "ms") if seconds < 1 else (1.0, "s")


def in_words(chart: Chart) -> str:
    """Say what the picture of `chart` shows."""
    if not chart.bars:
        return f"A timeline on which {NOTHING}."
    scale, unit = unit_for(chart.end)

    def at(seconds: float) -> str:
        return f"{seconds * scale:.4g}"

    origin = "modelled" if chart.modelled else "measured"
    said = [
        f"A timeline of {at(chart.end)} {unit}, {origin}, {chart.gpu}: the host above, "
        f"{_count(len(chart.streams), 'stream')} below it."
    ]
    for stream in chart.streams:
        told = [
            f"{_times(run)} from {at(run[0].start)} to {at(run[-1].end)}"
            for run in _runs([bar for bar in chart.bars if bar.stream == stream])
        ]
        said.append(f"{stream[:1].upper()}{stream[1:]}: {'; '.join(_shortened(told))}.")
    for bar in chart.bars:
        if bar.why in ("event", "room", "engine") and bar.after is not None and len(said) < 30:
            said.append(f"{bar.name} on {bar.stream} {reason(bar)}.")
    said.append(f"Critical path: {path_in_words(chart)}.")
    return " ".join(said)


def path_in_words(chart: Chart) -> str:
    """Return the steps of the critical path, runs of equal ones as one."""
    return ", then ".join(_shortened([f"{_times(run)} ({_where(run[0])})" for run in _runs(chart.path)]))


def reason(bar: Bar) -> str:
    """Say why a bar did not start earlier."""
    after = "" if bar.after is None else f"{bar.after.name} on {bar.after.stream}"
    if bar.why == "event" and after:
        return f"waits for {after}"
    if bar.why == "room" and after:
        return f"waits for room, which {after} takes"
    if bar.why == "engine" and after:
        return f"waits for the copy engine, busy with {after}"
    if bar.why == "stream":
        return f"follows {bar.after.name if bar.after else 'earlier work'} in its stream"
    return "starts when it is launched"


def table(chart: Chart) -> str:
    """Return a text table of what ran: start, length, where, what, why it started no earlier, the line.

    A star marks the critical path.
    """
    scale, unit = unit_for(chart.end)
    path = {id(step) for step in chart.path}
    rows = [("start", f"{unit}", "where", "what", "why not earlier", "line")]
    pieces = sorted([*chart.host, *chart.bars], key=lambda x: x.start)
    for piece in pieces[:_ROWS]:
        why = reason(piece) if isinstance(piece, Bar) else _host_reason(piece)
        star = "*" if id(piece) in path else " "
        times = f"{star} {piece.start * scale:.4g}", f"{(piece.end - piece.start) * scale:.3g}"
        rows.append((*times, _where(piece), piece.name, why, "" if piece.line is None else str(piece.line)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not chart.bars:
        lines.append(NOTHING)
    if len(pieces) > _ROWS:
        lines.append(f"... and {len(pieces) - _ROWS} more")
    origin = f"modelled, {chart.gpu}" if chart.modelled else f"measured on {chart.gpu}"
    lines.append(f"critical path (*): {chart.end * scale:.4g} {unit}, {origin}")
    if chart.inferred:
        lines.append("why each waited is concluded from the times")
    return "\n".join(lines)


def _host_reason(span: Span) -> str:
    return "" if span.on is None else f"until {span.on.name} on {span.on.stream} is done"


def _where(piece: Bar | Span) -> str:
    return piece.stream if isinstance(piece, Bar) else "host"


def _runs(pieces: list) -> list[list]:
    return [list(run) for _, run in groupby(pieces, key=lambda x: (_where(x), x.name))]


def _times(run: list) -> str:
    return run[0].name if len(run) == 1 else f"{len(run)} times {run[0].name}"


def _shortened(told: list[str], most: int = 12) -> list[str]:
    if len(told) <= most:
        return told
    return [*told[: most - 2], f"{len(told) - most + 1} more", told[-1]]


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
