"""The README's picture: `python -m grader.display.readme_picture PATH` writes it as PNG."""

import sys
from pathlib import Path

from matplotlib.patches import FancyBboxPatch

from grader.display.picture import BLUE, GREEN, GREY, INK, PALE, SKY, Picture, canvas

_CODE = """\
import grader, torch
jit = torch.cuda.jiterator

saxpy = jit._create_jit_fn(\"\"\"
  template <typename T>
  T saxpy(T x, T y, T alpha) {
    return alpha * x + y;
  }\"\"\", alpha=1.0)

ex = grader.exercise("jit-saxpy")
ex.check(saxpy)"""
_VERDICT = ("1 launch", "3 passes over memory", "every type and stride", "NaN and infinities kept")
_GPUS = (("a real GPU", "if you have one"), ("a simulated GPU", "CUDA's rules\non any laptop"))


def readme_picture() -> Picture:
    """Draw the course: your kernel runs on a real or a simulated GPU, and a check answers."""
    figure, axes = canvas(8, 3.1)
    axes.set(xlim=(0, 8), ylim=(0, 3.1))
    _panel(axes, 0.1, 0.2, 3.05, 2.45, "white", GREY)
    axes.text(0.1, 2.85, "you write plain PyTorch", fontsize=12, weight="bold", color=INK, va="center")
    axes.text(0.2, 1.42, _CODE, fontsize=10, family="monospace", color=INK, va="center", linespacing=1.35)
    axes.text(3.6, 2.85, "it runs on", fontsize=12, weight="bold", color=INK, va="center")
    axes.text(4.525, 1.42, "or", fontsize=12, color=INK, ha="center", va="center")
    for y, color, (name, what) in zip((1.6, 0.2), (GREEN, SKY), _GPUS, strict=True):
        _panel(axes, 3.6, y, 1.85, 1.05, color, color)
        axes.text(4.525, y + 0.72, name, fontsize=11, weight="bold", color=INK, ha="center", va="center")
        axes.text(4.525, y + 0.36, what, fontsize=10, color=INK, ha="center", va="center")
        for start, end in (((3.2, 1.42), (3.58, y + 0.55)), ((5.48, y + 0.55), (5.88, 1.42))):
            axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.5})
    axes.text(5.9, 2.85, "a check answers", fontsize=12, weight="bold", color=INK, va="center")
    _panel(axes, 5.9, 0.2, 2.0, 2.45, "#f4f4f4", PALE)
    axes.text(
        6.08,
        2.3,
        " PASS ",
        fontsize=12,
        weight="bold",
        color="white",
        va="center",
        bbox={"facecolor": "#00664b", "edgecolor": "none", "boxstyle": "round,pad=0.25"},
    )
    axes.text(6.08, 1.9, "jit-saxpy   3 points", fontsize=11, color=BLUE, weight="bold", va="center")
    for i, line in enumerate(_VERDICT):
        axes.text(6.08, 1.5 - i * 0.33, line, fontsize=10, color=INK, va="center")
    told = " or ".join(f"{name} ({what})" for name, what in _GPUS).replace("\n", " ")
    alt = (
        "Three panels. You write plain PyTorch: a jiterator kernel named saxpy, and ex.check(saxpy). "
        f"It runs on {told}. A check answers: PASS, jit-saxpy, 3 points; {'; '.join(_VERDICT)}."
    )
    return Picture(figure, alt, {"code": _CODE, "gpus": _GPUS, "verdict": _VERDICT})


def _panel(axes, x: float, y: float, width: float, height: float, face: str, edge: str) -> None:
    shape = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=shape, facecolor=face, edgecolor=edge, lw=1.2)
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m grader.display.readme_picture PATH")
    Path(sys.argv[1]).write_bytes(readme_picture().png())
