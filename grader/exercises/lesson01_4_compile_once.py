"""Lesson 01, a first JIT kernel: compile once, call often."""

from __future__ import annotations

import numpy as np
import torch

from . import families as fam
from .draw import Draw
from .model import Case, Exercise, Expected, Limits, Variant
from .wide import inputs, wide

TWO_FLOATS = (torch.float32, torch.float64)


def _scale_by(draw: Draw) -> dict:
    return {"alpha": float(draw.rng.choice([2.5, -1.5, 0.75, 3.5, -2.25]))}


def _many_alphas(draw: Draw) -> list[dict]:
    return [{"alpha": draw.number(-4, 4)} for _ in range(10)] + [{"alpha": 0.0}, {"alpha": 1 / 3}]


def _scaled(case: Case) -> Expected:
    value = wide(case.kwargs["alpha"], case.dtype) * inputs(case)[0]
    return Expected(value, np.abs(value))


def _scale_variant(says, combine):
    return Variant(says, lambda case: combine(inputs(case)[0], wide(case.kwargs["alpha"], case.dtype)))


EXERCISES = [
    Exercise(
        id="compile-once",
        lesson=1,
        title="Compile once, call often",
        task="Write a Python function scale(x, alpha) that returns alpha * x, computed by a jiterator "
        "kernel of yours, and never compiles a second time for a new alpha. Create the kernel once, "
        "outside the function.",
        signature="scale(x, alpha) -> tensor of x's shape and dtype",
        dtypes=TWO_FLOATS,
        promised="float32, float64; any shape and strides; any float alpha",
        families=(
            fam.small(1, TWO_FLOATS, _scale_by),
            fam.keyword_series(1, TWO_FLOATS, _many_alphas),
            fam.every_dtype(1, TWO_FLOATS, _scale_by),
            fam.sizes(1, (torch.float32,), _scale_by),
            fam.special(1, TWO_FLOATS, _scale_by),
            fam.views(1, (torch.float32,), _scale_by),
            fam.renewed(1, torch.float32, _scale_by),
            fam.large(1, torch.float32, _scale_by),
        ),
        oracle=_scaled,
        tolerance=4.0,
        limits=Limits(passes=2, launches=1, compiles=1, creates=1),
        kind="jiterator",
        torch_ops_allowed=False,
        variants=(
            _scale_variant("alpha is added where it should multiply.", lambda x, a: x + a),
            _scale_variant(
                "alpha lost its fraction: somewhere it becomes an integer.", lambda x, a: np.trunc(a) * x
            ),
            _scale_variant("x is divided by alpha.", lambda x, a: x / a),
            _scale_variant(
                "alpha was rounded to two digits on its way into the code.", lambda x, a: np.round(a, 2) * x
            ),
            _scale_variant(
                "alpha was rounded to six digits on its way into the code: `{alpha:f}` and printf cut it.",
                lambda x, a: np.round(a, 6) * x,
            ),
        ),
        hints=(
            "A kernel is compiled when its text is new. What in your program changes the text?",
            "A number pasted into the string makes a new text for each number. A keyword of _create_jit_fn "
            "travels to the kernel as an argument, like x: the text stays.",
            "Above the function: a kernel with the parameters (T x, T alpha), created with `alpha=1.0`. "
            "Inside the function: one line that calls it with x and `alpha=alpha`.",
        ),
        points=3,
        solution="""\
_scale = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T scale(T x, T alpha) { return alpha * x; }",
    alpha=1.0,
)

def scale(x, alpha):
    return _scale(x, alpha=alpha)
""",
        starter='''\
# Create your kernel here, once. Then call it inside the function.

def scale(x, alpha):
    """alpha * x by your kernel; no second compile, whatever alpha is."""
    ...
''',
    )
]
