"""Lesson 00, start here: one warm-up."""

from __future__ import annotations

import numpy as np
import torch

from .draw import Draw
from .model import Case, Exercise, Expected, Family, Limits, Variant


def _numbers(case: Case) -> np.ndarray:
    return np.asarray(case.args[0], dtype=np.int64 if case.dtype == torch.int64 else np.float64)


def _doubled(case: Case) -> Expected:
    value = 2 * _numbers(case)
    return Expected(value, None if case.dtype == torch.int64 else np.abs(value))


def _lists(draw: Draw):
    for _ in range(2):
        yield Case((draw.readable(3, torch.float32).tolist(),), {}, torch.float32)
    yield Case((draw.readable(3, torch.int64).tolist(),), {}, torch.int64)


def _lengths(draw: Draw):
    for count in (1, 0, 31, 33, 127, 1009):
        yield Case((draw.values(count, torch.float32).tolist(),), {}, torch.float32)
    yield Case(([draw.integer(-(2**20), 2**20) for _ in range(129)],), {}, torch.int64)


EXERCISES = [
    Exercise(
        id="hello-gpu",
        lesson=0,
        title="There and back",
        task="Write double_on_gpu(values): copy a Python list of numbers to the GPU, multiply it by two "
        "there, and return the result as a Python list. The multiplication must happen on the GPU: the "
        "check sees where the work was done.",
        signature="double_on_gpu(values) -> list",
        dtypes=(torch.float32, torch.int64),
        promised="lists of floats (they become float32) or of ints (int64), of any length",
        families=(Family("small", _lists), Family("sizes", _lengths)),
        oracle=_doubled,
        tolerance=2.0,
        limits=Limits(),
        kind="function",
        torch_ops_allowed=True,
        returns="list",
        variants=(
            Variant(
                "You squared the numbers (`** 2` or `t * t`); doubling is `2 * t` or `t + t`.",
                lambda case: _numbers(case) ** 2,
            ),
            Variant(
                "Your list holds four times the numbers: they were doubled twice.",
                lambda case: 4 * _numbers(case),
            ),
            Variant(
                "Your list holds half the numbers: multiply by two, do not divide.",
                lambda case: _numbers(case) / 2,
            ),
        ),
        hints=(
            "Three things happen: numbers go to the GPU, the GPU computes, numbers come back. Which line "
            "of yours does which?",
            "torch.tensor makes a tensor from a list, and takes a keyword that says on which device it "
            "lives. An operation runs where its tensor lives. A tensor has a method that gives a Python "
            "list, and it waits for the GPU.",
            'Make t with torch.tensor(values, device=...), where the device is the string "cuda"; '
            "compute 2 * t; end with .tolist() on that.",
        ),
        points=1,
        solution="""\
def double_on_gpu(values):
    t = torch.tensor(values, device="cuda")  # host -> device
    doubled = 2 * t                          # runs on the GPU
    return doubled.tolist()                  # device -> host: waits for the GPU
""",
        starter='''\
def double_on_gpu(values):
    """Copy the list to the GPU, double it there, copy it back."""
    ...
''',
    ),
]
