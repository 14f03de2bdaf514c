"""Patterns in the numbers themselves: a value transformed, held too narrowly, or in its neighbour's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from .compare import exact_dtype
from .judge import Finding
from .matching import Clues, held_in, is_always, near, through_float
from .matching import alike as same
from .show import dtype_name
from .verdict import Reason


def transformed(clues: Clues) -> Iterator:
    floats = not exact_dtype(clues.first.outcome.case.dtype)
    shapes = (
        (
            lambda f: -f.want.value,
            "Every sign is flipped. Is a difference taken the wrong way round, or a minus too many?",
        ),
        (
            lambda f: np.abs(f.want.value),
            "The sizes are right, but negative results lost their sign. Is there an abs, or a square, on "
            "the way?",
        ),
        (
            lambda f: _whole(f, np.trunc),
            "The fractions are cut off: somewhere the value passes through an integer. In C++ `1 / 2` is "
            "0, and an `int` parameter or variable drops the fraction.",
        ),
        (
            lambda f: _whole(f, np.floor),
            "The fractions are rounded down: somewhere the value passes through an integer.",
        ),
        (
            lambda f: _whole(f, np.round),
            "The values are rounded to whole numbers: what in your code makes integers?",
        ),
        (lambda f: 1 / f.want.value, "These are the reciprocals of the right values."),
        (
            lambda f: 2 * f.want.value,
            "Every value is twice as large as it should be: is something added twice?",
        ),
        (lambda f: f.want.value / 2, "Every value is half as large as it should be."),
        (lambda f: f.want.value + 1, "Every value is 1 too large."),
        (lambda f: f.want.value - 1, "Every value is 1 too small."),
        (
            lambda f: np.maximum(f.want.value, 0),
            "Negative results became 0. Which branch of your code returns 0?",
        ),
    )
    for wrong, words in shapes if floats else (*shapes[:2], *shapes[6:]):
        if is_always(clues.exercise, clues.alike, wrong):
            yield None, words
    if clues.first.outcome.case.dtype in (torch.int64, torch.int32) and is_always(
        clues.exercise, clues.alike, through_float
    ):
        yield (
            Reason.PRECISION,
            "The leading digits are right and the last ones are lost: a large integer went through a "
            "floating-point number. Which type does your code compute in?",
        )


def _whole(finding: Finding, rounding: Callable) -> np.ndarray:
    """The expected value rounded; where that hangs on the last digit, either side of the step will do."""
    want, got = finding.want.value, finding.got
    step = 1e-3 * (1 + np.abs(want))
    return np.where((got == rounding(want - step)) | (got == rounding(want + step)), got, rounding(want))


def precision(clues: Clues) -> Iterator:
    dtype = clues.first.outcome.case.dtype
    if exact_dtype(dtype):
        return
    narrower = {
        torch.float32: (torch.float16, torch.bfloat16),
        torch.float64: (torch.float32, torch.float16, torch.bfloat16),
        torch.complex128: (torch.complex64,),
        torch.float16: (torch.bfloat16,),
    }.get(dtype, ())
    for narrow in narrower:
        if all(held_in(f, dtype, narrow) for f in clues.alike):
            name = dtype_name(narrow)
            yield (
                Reason.PRECISION,
                f"The values are near, with the precision of {name} and not of {dtype_name(dtype)}: "
                f"somewhere on the way they are held in {name}, or in an approximation as coarse. Where "
                "does your code change the type?",
            )
    if all(near(f, dtype, 2.0**10).all() for f in clues.alike):
        yield (
            Reason.PRECISION,
            "The values are near, but not near enough for this type. A fast approximation (`__expf`), a "
            "cancellation or a rounded constant does this. Which step loses the digits?",
        )


def neighbours(clues: Clues) -> Iterator:
    if clues.first.got.ndim != 1 or clues.first.got.size < 4:
        return
    rows = [f for f in clues.alike if f.got.ndim == 1 and f.got.size >= 4]
    if all(same(f.got[:-1], f.want.value[1:]) or same(f.got[1:], f.want.value[:-1]) for f in rows):
        yield None, "Each element holds its neighbour's value: an index is off by one."
    if all(same(f.got, f.want.value[::-1]) for f in rows):
        yield None, "The values are right, in reverse order."
    if all(same(np.sort(f.got), np.sort(f.want.value.astype(f.got.dtype))) for f in rows):
        yield None, "The values are right, but in another order: which index reads, and which one writes?"
