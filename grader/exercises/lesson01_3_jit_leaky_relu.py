"""Lesson 01, a first JIT kernel: a branch in the kernel."""

from __future__ import annotations

import numpy as np
import torch

from . import families as fam
from .draw import Draw
from .model import Case, Exercise, Expected, Limits, Variant
from .wide import inputs, wide

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
TWO_FLOATS = (torch.float32, torch.float64)


def _slope(draw: Draw) -> dict:
    return {"slope": float(draw.rng.choice([0.5, 0.25, 1.5, 0.1, 2.0]))}


def _slopes(draw: Draw) -> list[dict]:
    return [
        {},
        {"slope": draw.number(0.05, 0.5)},
        {"slope": draw.number(1.5, 3)},
        {"slope": 0.0},
        {"slope": draw.number(-2, -1)},
        {"slope": 1 / 3},
    ]


def _leaky_terms(case: Case):
    return inputs(case)[0], wide(case.kwargs.get("slope", 0.01), case.dtype)


def _leaky(case: Case) -> Expected:
    x, slope = _leaky_terms(case)
    value = np.where(x > 0, x, slope * x)
    return Expected(value, np.abs(value))


def _leaky_variant(says, combine):
    return Variant(says, lambda case: combine(*_leaky_terms(case)))


EXERCISES = [
    Exercise(
        id="jit-leaky-relu",
        lesson=1,
        title="A branch in the kernel",
        task="Write a jiterator kernel `leaky_relu` with one input and a keyword slope: x where x > 0, "
        "else slope * x. NaN stays NaN, whatever the slope.",
        signature="leaky_relu(x, slope=0.01) -> tensor of x's shape and dtype",
        dtypes=FLOATS,
        promised="float16, bfloat16, float32, float64; any shape and strides",
        families=(
            fam.small(1, FLOATS, _slope),
            fam.special(1, FLOATS, _slope),
            fam.keyword_series(1, (torch.float32,), _slopes),
            fam.every_dtype(1, FLOATS, _slope),
            fam.sizes(1, (torch.float32,), _slope),
            fam.views(1, TWO_FLOATS, _slope),
            fam.renewed(1, torch.float32, _slope),
            fam.large(1, torch.float32, _slope),
        ),
        oracle=_leaky,
        tolerance=4.0,
        limits=Limits(passes=2, launches=1),
        kind="jiterator",
        torch_ops_allowed=False,
        variants=(
            _leaky_variant(
                "Negative numbers became 0: this is relu. What should the second branch return?",
                lambda x, s: np.where(x > 0, x, 0 * x),
            ),
            _leaky_variant(
                "The slope that the caller gives has no effect: 0.01 is always used.",
                lambda x, s: np.where(x > 0, x, 0.01 * x),
            ),
            _leaky_variant(
                "The branches are swapped: slope multiplies the positive numbers.",
                lambda x, s: np.where(x > 0, s * x, x),
            ),
            _leaky_variant("Negative numbers became positive.", lambda x, s: np.where(x > 0, x, -s * x)),
            _leaky_variant(
                "This is the larger of x and slope * x. For a slope above 1 that is the wrong one of the "
                "two.",
                lambda x, s: np.maximum(x, s * x),
            ),
            _leaky_variant("Every number is multiplied by slope; the branch is missing.", lambda x, s: s * x),
            _leaky_variant("This is the absolute value of x.", lambda x, s: np.abs(x)),
            _leaky_variant(
                "slope lost its fraction: somewhere it becomes an integer.",
                lambda x, s: np.where(x > 0, x, np.trunc(s) * x),
            ),
            _leaky_variant(
                "You return slope itself for numbers that are not positive; it must multiply x.",
                lambda x, s: np.where(x > 0, x, s + np.zeros_like(x)),
            ),
        ),
        hints=(
            "Each element decides for itself. C++ has an expression that chooses between two values, "
            "shorter than if and else.",
            "`condition ? a : b` is a when the condition holds, else b. `<`, `>`, `<=`, `>=` and `==` are "
            "false when NaN stands on either side, so with them NaN goes to b. Is what stands there still "
            "NaN for a NaN?",
            "`x > 0 ? ... : ...` with x in one place and the product of the two parameters in the other; "
            "slope is a second parameter of type T, and `slope=0.01` is given to _create_jit_fn.",
        ),
        points=3,
        solution="""\
leaky_relu = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T leaky_relu(T x, T slope) { return x > 0 ? x : slope * x; }",
    slope=0.01,
)
""",
        starter="""\
leaky_relu = None  # your kernel: torch.cuda.jiterator._create_jit_fn("...", slope=...)
""",
    )
]
