"""Lesson 01, a first JIT kernel: a keyword for the kernel."""

from __future__ import annotations

import numpy as np
import torch

from . import families as fam
from .draw import Draw
from .model import Case, Exercise, Expected, Limits, Variant
from .wide import inputs, wide

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
TWO_FLOATS = (torch.float32, torch.float64)


def _alpha(draw: Draw) -> dict:
    return {"alpha": float(draw.rng.choice([2.5, -1.5, 0.75, 3.5, -2.25]))}


def _alphas(draw: Draw) -> list[dict]:
    return [
        {},
        {"alpha": draw.number(-3, -1)},
        {"alpha": draw.number(1, 3)},
        {"alpha": 0.0},
        {"alpha": draw.number(0.001, 0.01)},
        {"alpha": 1 / 3},
    ]


def _saxpy_terms(case: Case):
    x, y = inputs(case)
    return wide(case.kwargs.get("alpha", 1.0), case.dtype), x, y


def _saxpy(case: Case) -> Expected:
    alpha, x, y = _saxpy_terms(case)
    return Expected(alpha * x + y, np.abs(alpha * x) + np.abs(y))


def _saxpy_variant(says, combine):
    return Variant(says, lambda case: combine(*_saxpy_terms(case)))


EXERCISES = [
    Exercise(
        id="jit-saxpy",
        lesson=1,
        title="A keyword for the kernel",
        task="Write a jiterator kernel `saxpy` that computes alpha * x + y in one launch. "
        "alpha is a keyword that is 1.0 unless the caller says otherwise.",
        signature="saxpy(x, y, alpha=1.0) -> tensor of the common shape and dtype",
        dtypes=FLOATS,
        promised="float16, bfloat16, float32, float64; any shapes that broadcast, any strides",
        families=(
            fam.small(2, FLOATS, _alpha),
            fam.keyword_series(2, (torch.float32,), _alphas),
            fam.every_dtype(2, FLOATS, _alpha),
            fam.sizes(2, (torch.float32,), _alpha),
            fam.special(2, FLOATS, _alpha),
            fam.views(2, TWO_FLOATS, _alpha),
            fam.broadcasting((torch.float32,), _alpha),
            fam.renewed(2, torch.float32, _alpha),
            fam.large(2, torch.float32, _alpha),
        ),
        oracle=_saxpy,
        tolerance=4.0,
        limits=Limits(passes=3, launches=1),
        kind="jiterator",
        torch_ops_allowed=False,
        variants=(
            _saxpy_variant("alpha has no effect: this is x + y.", lambda a, x, y: x + y),
            _saxpy_variant("alpha multiplies y; it belongs to x.", lambda a, x, y: x + a * y),
            _saxpy_variant(
                "alpha multiplies the whole sum; it belongs to x alone.", lambda a, x, y: a * (x + y)
            ),
            _saxpy_variant("y is subtracted.", lambda a, x, y: a * x - y),
            _saxpy_variant("y is not used.", lambda a, x, y: a * x + np.zeros_like(y)),
            _saxpy_variant("alpha is added where it should multiply.", lambda a, x, y: a + x + y),
            _saxpy_variant(
                "This is x * y + alpha: the parameters stand in another order than they are passed. "
                "Tensors come first, then keywords.",
                lambda a, x, y: x * y + a,
            ),
            _saxpy_variant(
                "alpha lost its fraction: somewhere it becomes an integer.",
                lambda a, x, y: np.trunc(a) * x + y,
            ),
        ),
        hints=(
            "A keyword of _create_jit_fn becomes one more parameter of your C++ function. How does "
            "jiterator know which parameter it is?",
            "Names never reach C++: keywords come behind the tensors, in the order in which you gave them "
            "to _create_jit_fn. What you write there is also the default.",
            "`template <typename T> T saxpy(T x, T y, T alpha) { ... }`, created with `alpha=1.0` behind "
            "the string. The body is the formula of the task.",
        ),
        points=3,
        solution="""\
saxpy = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T saxpy(T x, T y, T alpha) { return alpha * x + y; }",
    alpha=1.0,
)
""",
        starter="""\
saxpy = None  # your kernel: torch.cuda.jiterator._create_jit_fn("...", alpha=...)
""",
    )
]
