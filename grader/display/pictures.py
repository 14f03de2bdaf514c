"""The pictures of the lessons. Each returns a `Picture`; its `data` says what is plotted."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import NullLocator

from grader.display.picture import (
    BLUE,
    FONT,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    SKY,
    VERMILLION,
    Picture,
    canvas,
)

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def host_queue_device() -> Picture:
    """Draw host, queue and device over time: launches return at once, the device works them off in order."""
    kernels, launch, work = 4, 0.5, 3.0
    host = [(0.3 + i * 0.65, launch) for i in range(kernels)]
    begin = host[0][0] + launch + 0.4
    device = [(begin + i * work, work) for i in range(kernels)]
    queue = [
        (at + length, start - at - length) for (at, length), (start, _) in zip(host, device, strict=True)
    ]
    launched, done = host[-1][0] + launch, device[-1][0] + work
    free = (launched + 0.15, 3.6)
    wait = (sum(free) + 0.15, done - sum(free) - 0.15)

    figure, axes = canvas(7.5, 3.6)
    axes.set(xlim=(-3.1, done + 0.6), ylim=(-0.9, 4.95))
    for y, name, what in (
        (4.25, "host", "your Python"),
        (2.35, "queue", "launches waiting"),
        (0.35, "device", "the GPU"),
    ):
        axes.text(-2.95, y + 0.25, name, fontsize=13, weight="bold", color=INK, va="center")
        axes.text(-2.95, y - 0.25, what, fontsize=10, color=GREY, va="center")
    for y in (1.35, 3.6):
        axes.axhline(y, color=PALE, lw=1)
    for i in range(kernels):
        (h, _), (q, held), (d, _) = host[i], queue[i], device[i]
        y = 3.2 - i * 0.5
        axes.plot([q, q, q + held], [3.85, y, y], color=ORANGE, lw=2.5)
        axes.text(q + 0.12, y + 0.06, f"{i + 1}", fontsize=10, color=INK, va="bottom")
        _arrow(axes, (d, y), (d, 0.78), ORANGE)
        _bar(axes, h, 3.85, launch, 0.8, BLUE, str(i + 1))
        _bar(axes, d, -0.05, work, 0.8, GREEN, f"kernel {i + 1}", ink=INK)
    _bar(axes, free[0], 3.85, free[1], 0.8, "#cfe3f1", "free for other work", ink=INK)
    _bar(axes, wait[0], 3.85, wait[1], 0.8, "white", "synchronize() waits", ink=INK, hatch="///", edge=GREY)
    _arrow(axes, (done - 0.05, 0.78), (done - 0.05, 3.82), VERMILLION)
    axes.text(done - 0.25, 2.35, "all done", fontsize=FONT, color=INK, ha="right", va="center")
    _arrow(axes, (0, -0.55), (done + 0.3, -0.55), GREY)
    axes.text(-0.2, -0.55, "time", fontsize=10, color=GREY, ha="right", va="center")
    alt = (
        f"A time line with three lanes. Host: Python makes {kernels} short launches, one right after the "
        "other, is then free for other work, and later waits in synchronize(). Queue: each launch waits in "
        "line until the device takes it; the later ones wait longer. Device: the GPU works off "
        f"{kernels} long kernels one after another, in the order of their launches. "
        "synchronize() ends when the last kernel ends."
    )
    return Picture(
        figure, alt, {"host": host, "free": free, "queue": queue, "device": device, "synchronize": wait}
    )


def elementwise(a, b, out, op_text: str = "x + y", names: Sequence[str] = ("a", "b", "out")) -> Picture:
    """Draw an elementwise kernel: one thread for each element of `out`.

    a, b, out: tensors, arrays or lists of numbers; out of shape (n,) with a and b of n elements or one,
    or out of shape (n, m) with a of shape (n, 1) and b of shape (m,) or (1, m). op_text: what each thread
    computes, with x from a and y from b. Raises ValueError for other shapes. Up to 8 columns and rows are
    readable.
    """
    a, b, out = (
        np.asarray(values.tolist() if hasattr(values, "tolist") else values) for values in (a, b, out)
    )
    if (
        out.ndim == 2
        and a.shape == (out.shape[0], 1)
        and b.size == out.shape[1]
        and b.shape[-1] == out.shape[1]
    ):
        return _outer(a, b, out, op_text, names)
    if out.ndim == 1 and out.size and all(v.ndim <= 1 and v.size in (1, out.size) for v in (a, b)):
        return _rows(a, b, out, op_text, names)
    raise ValueError(
        f"no picture for shapes {a.shape} and {b.shape} -> {out.shape}: see elementwise's documentation"
    )


def call_times(times_ms: Sequence[float], labels: Sequence[str] | None = None) -> Picture:
    """Draw the time of each call of a kernel, in milliseconds, on a logarithmic scale.

    labels: one for each call; 'first call (compiles)', 'second call', ... without them; bars whose label says
    'compiles' are hatched. Raises ValueError for fewer than two times, for one that is not above 0, and for a
    different number of labels.
    """
    times = [float(t) for t in times_ms]
    if len(times) < 2 or not all(0 < t < float("inf") for t in times):
        raise ValueError(f"call_times() needs at least two times above 0 ms, got {times}")
    names = list(labels) if labels is not None else [_nth_call(i) for i in range(len(times))]
    if len(names) != len(times):
        raise ValueError(f"call_times() got {len(times)} times and {len(names)} labels")

    figure = Figure(figsize=(7.5, 0.9 + 0.46 * len(times)), layout="constrained")
    axes = figure.add_subplot()
    compiles = ["compiles" in name for name in names]
    bars = axes.barh(range(len(times)), times, height=0.66, color=[ORANGE if c else BLUE for c in compiles])
    for bar, c in zip(bars, compiles, strict=True):
        bar.set_hatch("//" if c else None)
        bar.set_edgecolor("white")
    figures = [_ms(t) for t in times]
    axes.bar_label(bars, figures, padding=5, fontsize=FONT, color=INK)
    axes.set_yticks(range(len(times)), names, fontsize=FONT)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(times) / 3, max(times) * 6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("time of the call, ms (each step to the right is 10 times longer)", fontsize=10)
    axes.tick_params(axis="x", labelsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color=PALE)
    axes.set_axisbelow(True)
    told = "; ".join(f"{name}: {value}" for name, value in zip(names, figures, strict=True))
    return Picture(
        figure,
        f"Bars on a logarithmic scale, one for each call. {told}.",
        {"labels": names, "times_ms": times},
    )


def _rows(a: np.ndarray, b: np.ndarray, out: np.ndarray, op_text: str, names: Sequence[str]) -> Picture:
    n = out.size
    shared = [name for name, v in zip(names, (a, b), strict=False) if v.size == 1 < n]
    figure, axes = canvas(7.5, 4.2)
    axes.set(xlim=(-1.55, max(n, 3) + 0.1), ylim=(-0.45, 5.1))
    for y, text in ((4.05, names[0]), (3.1, names[1]), (0.46, names[2])):
        axes.text(-1.45, y, text, fontsize=13, weight="bold", va="center", color=INK)
    axes.text(-1.45, 1.88, "each thread\ncomputes", fontsize=10, va="center", color=GREY)
    for i in range(n):
        axes.add_patch(
            Rectangle((i + 0.03, -0.1), 0.94, 5.1, facecolor="#f4f4f4", edgecolor="none", zorder=0)
        )
        axes.text(i + 0.5, 4.75, f"thread {i}", fontsize=10, ha="center", va="center", color=GREY)
        for values, left, y, color, ink in ((a, 0.07, 3.7, BLUE, "white"), (b, 0.47, 2.75, SKY, INK)):
            again = values.size == 1 < n and i > 0
            shown = _number(values.flat[0 if values.size == 1 else i])
            _box(axes, i + left, y, 0.46, 0.7, color, shown, ghost=again, ink=ink)
            _arrow(axes, (i + left + 0.2, y - 0.03), (i + left + 0.2, 2.22), INK)
        axes.add_patch(
            FancyBboxPatch((i + 0.1, 1.62), 0.8, 0.52, boxstyle="round,pad=0.02", fc="#fff4d6", ec=ORANGE)
        )
        axes.text(
            i + 0.5, 1.88, op_text, fontsize=10, ha="center", va="center", color=INK, family="monospace"
        )
        _arrow(axes, (i + 0.5, 1.57), (i + 0.5, 0.84), INK)
        _box(axes, i + 0.2, 0.1, 0.6, 0.7, GREEN, _number(out[i]), ink=INK)
    if shared:
        axes.text(
            -1.45,
            -0.3,
            f"dashed: {' and '.join(shared)} has one element, and every thread reads that one",
            fontsize=10,
            color=GREY,
            va="center",
        )
    alt = (
        f"Rows of boxes. {names[0]}: {_listed(a)}. {names[1]}: {_listed(b)}. {names[2]}: {_listed(out)}. "
        f"Thread i reads one element of {names[0]} and one of {names[1]}, computes {op_text} and writes "
        f"element i of {names[2]}. No thread looks at another thread's elements."
    )
    if shared:
        alt += f" {' and '.join(shared)} has one element, which every thread reads: broadcasting."
    return Picture(figure, alt, {"a": a.tolist(), "b": b.tolist(), "out": out.tolist(), "threads": n})


def _outer(a: np.ndarray, b: np.ndarray, out: np.ndarray, op_text: str, names: Sequence[str]) -> Picture:
    n, m = out.shape
    figure, axes = canvas(7.5, 1.5 + 0.62 * n)
    axes.set(xlim=(-2.6, m + 3.2), ylim=(n + 0.25, -1.75))
    axes.text(
        -0.55 - 0.86, -0.45, f"{names[0]}\n{a.shape}", fontsize=FONT, ha="center", va="bottom", color=INK
    )
    axes.text(m + 0.15, -1.07, f"{names[1]}  {b.shape}", fontsize=FONT, ha="left", va="center", color=INK)
    axes.text(
        m + 0.15,
        n / 2,
        f"{names[2]}  {out.shape}\n{n} x {m} threads, each\ncomputes {op_text}",
        fontsize=FONT,
        va="center",
        color=INK,
    )
    for i in range(n):
        _box(axes, -1.77, i + 0.12, 0.72, 0.72, BLUE, _number(a[i, 0]), ink="white")
        _arrow(axes, (-0.98, i + 0.48), (0.05, i + 0.48), BLUE)
    for j in range(m):
        _box(axes, j + 0.14, -1.43, 0.72, 0.72, SKY, _number(b.flat[j]), ink=INK)
        _arrow(axes, (j + 0.5, -0.66), (j + 0.5, 0.06), SKY)
        for i in range(n):
            _box(axes, j + 0.14, i + 0.12, 0.72, 0.72, GREEN, _number(out[i, j]), ink=INK)
    alt = (
        f"A table. {names[0]}, of shape {a.shape}, stands to its left: {_listed(a)}. {names[1]}, of shape "
        f"{b.shape}, stands above it: {_listed(b)}. Each of the {n} x {m} boxes of {names[2]} is one thread: "
        f"it computes {op_text} from the {names[0]} of its row and the {names[1]} of its column. "
        f"Row by row: {'; '.join(_listed(row) for row in out)}."
    )
    return Picture(figure, alt, {"a": a.tolist(), "b": b.tolist(), "out": out.tolist(), "threads": n * m})


def _bar(axes: Axes, x, y, width, height, color, text, ink="white", hatch=None, edge="white") -> None:
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor=edge, hatch=hatch, lw=1))
    backing = {"facecolor": "white", "edgecolor": "none", "pad": 2} if hatch else None
    axes.text(
        x + width / 2, y + height / 2, text, fontsize=FONT, color=ink, ha="center", va="center", bbox=backing
    )


def _box(axes: Axes, x, y, width, height, color, text, ink, ghost=False) -> None:
    face, ink = ("white", GREY) if ghost else (color, ink)
    axes.add_patch(
        Rectangle((x, y), width, height, facecolor=face, edgecolor=color, lw=1.5, ls="--" if ghost else "-")
    )
    axes.text(x + width / 2, y + height / 2, text, fontsize=FONT, color=ink, ha="center", va="center")


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    axes.annotate(
        "",
        end,
        start,
        arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.5, "shrinkA": 0, "shrinkB": 0},
    )


def _number(value) -> str:
    return f"{value:.4g}"


def _listed(values: np.ndarray) -> str:
    return ", ".join(_number(v) for v in values.flat)


def _nth_call(i: int) -> str:
    name = f"{_ORDINALS[i]} call" if i < len(_ORDINALS) else f"call {i + 1}"
    return name + (" (compiles)" if i == 0 else "")


def _ms(time: float) -> str:
    return f"{time:,.0f} ms" if time >= 100 else f"{time:.2g} ms"
