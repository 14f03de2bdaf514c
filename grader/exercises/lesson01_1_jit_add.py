"""Lesson 01, a first JIT kernel: the sum of two tensors."""

from __future__ import annotations

import numpy as np
import torch

from . import families as fam
from .draw import Draw
from .model import Case, Exercise, Expected, Family, Limits, Variant
from .wide import inputs

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
ADDABLE = (*FLOATS, torch.complex64, torch.int32, torch.int64, torch.uint8, torch.bool)
MAIN = (torch.float32, torch.int64)


def _sum(case: Case) -> Expected:
    x, y = inputs(case)
    exact = not (case.dtype.is_floating_point or case.dtype.is_complex)
    return Expected(x + y, None if exact else np.abs(x) + np.abs(y))


def _mixed(draw: Draw):
    yield Case(
        (draw.values(7, torch.int32), draw.values(7, torch.float32)),
        {},
        torch.float32,
        "x is int32 and y float32: the common type is float32",
    )


def _add_variant(says, combine):
    return Variant(says, lambda case: combine(*inputs(case)))


EXERCISES = [
    Exercise(
        id="jit-add",
        lesson=1,
        title="Your first kernel",
        task="Write a jiterator kernel `add` that returns the sum of two tensors. "
        "It must work for every type below and for inputs that broadcast against each other.",
        signature="add(x, y) -> tensor of the common shape and dtype",
        dtypes=ADDABLE,
        promised="float16, bfloat16, float32, float64, complex64, int32, int64, uint8, bool (where + "
        "means or); any shapes that broadcast, any strides",
        families=(
            fam.small(2, ADDABLE),
            fam.every_dtype(2, ADDABLE),
            fam.sizes(2, MAIN),
            fam.special(2, FLOATS),
            fam.views(2, MAIN),
            fam.broadcasting(MAIN),
            Family("mixed", _mixed),
            fam.renewed(2, torch.float32),
            fam.large(2, torch.float32),
        ),
        oracle=_sum,
        tolerance=2.0,
        limits=Limits(passes=3, launches=1),
        kind="jiterator",
        torch_ops_allowed=False,
        variants=(
            _add_variant("You subtract y.", lambda x, y: x ^ y if x.dtype == bool else x - y),
            _add_variant("You multiply x and y.", lambda x, y: x * y),
            _add_variant("You add x to itself; y is not used.", lambda x, y: x + x + np.zeros_like(y)),
            _add_variant("You return y; x is not used.", lambda x, y: y + np.zeros_like(x)),
            _add_variant("You return the larger of the two.", np.maximum),
            _add_variant(
                "The fractions are cut off before the sum: an integer stands between input and result.",
                lambda x, y: np.trunc(x) + np.trunc(y),
            ),
        ),
        hints=(
            "A jiterator kernel is a string of C++ that says what happens to one single element. You never "
            "write the loop, and you never say how many elements there are.",
            "The string starts with `template <typename T>`. Behind that comes an ordinary C++ function: a "
            "return type, a name, its parameters with their types, and a body in braces. Use T as the only "
            "type, and it serves all of them.",
            "The skeleton is `template <typename T> T add(T x, T y) { return ...; }`. Put it in quotes, "
            "and hand it to torch.cuda.jiterator._create_jit_fn.",
        ),
        points=2,
        solution="""\
add = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T add(T x, T y) { return x + y; }"
)
""",
        starter="""\
add = None  # your kernel: torch.cuda.jiterator._create_jit_fn("...")
""",
    )
]
