"""Case families that elementwise exercises share. Each returns a `Family`; a lesson picks and orders them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch

from .draw import Draw, special_values
from .model import Case, Family

Keywords = Callable[[Draw], dict]
SIZES = (1, 0, 31, 32, 33, 127, 128, 129, 251, 1009)


def no_keywords(draw: Draw) -> dict:
    """The keywords of an exercise that has none."""
    return {}


def small(inputs: int, dtypes: Sequence[torch.dtype], keywords: Keywords = no_keywords) -> Family:
    """Four short numbers, every dtype: what a first message shows."""

    def make(draw):
        for dtype in dtypes:
            yield Case(tuple(draw.readable(4, dtype) for _ in range(inputs)), keywords(draw), dtype)

    return Family("small", make)


def every_dtype(inputs: int, dtypes: Sequence[torch.dtype], keywords: Keywords = no_keywords) -> Family:
    """257 values with all bits in use, every dtype."""

    def make(draw):
        for dtype in dtypes:
            yield Case(tuple(draw.values(257, dtype) for _ in range(inputs)), keywords(draw), dtype)

    return Family("dtypes", make)


def sizes(inputs: int, dtypes: Sequence[torch.dtype], keywords: Keywords = no_keywords) -> Family:
    """Nothing, one, and the neighbours of 32 and 128, and primes."""

    def make(draw):
        for dtype, count in itertools.product(dtypes, SIZES):
            yield Case(tuple(draw.values(count, dtype) for _ in range(inputs)), keywords(draw), dtype)

    return Family("sizes", make)


def large(inputs: int, dtype: torch.dtype, keywords: Keywords = no_keywords) -> Family:
    """One element more than 2**20."""

    def make(draw):
        yield Case(tuple(draw.values(2**20 + 1, dtype) for _ in range(inputs)), keywords(draw), dtype)

    return Family("large", make)


def views(inputs: int, dtypes: Sequence[torch.dtype], keywords: Keywords = no_keywords) -> Family:
    """Tensors that do not lie in one piece; every other input is contiguous."""

    def make(draw):
        makers = (
            ("{} is every second element of a larger tensor", lambda d: draw.strided(9, d), (9,)),
            ("{} is a slice that starts inside a larger tensor", lambda d: draw.offset(33, d), (33,)),
            ("{} is transposed", lambda d: draw.transposed(3, 4, d), (3, 4)),
            ("{} is expanded (one row, stride 0)", lambda d: draw.expanded(3, 5, d), (3, 5)),
            ("{} is a transposed slice", lambda d: draw.values((7, 9), d)[1:, 2:].t(), (7, 6)),
        )
        for dtype, (words, view, shape), place in itertools.product(dtypes, makers, range(inputs)):
            args = [draw.values(shape, dtype) for _ in range(inputs)]
            args[place] = view(dtype)
            yield Case(tuple(args), keywords(draw), dtype, words.format("xyzw"[place]))
        for dtype in dtypes:
            args = tuple(draw.transposed(4, 3, dtype) for _ in range(inputs))
            yield Case(
                args, keywords(draw), dtype, "every input is transposed" if inputs > 1 else "x is transposed"
            )

    return Family("views", make)


def broadcasting(dtypes: Sequence[torch.dtype], keywords: Keywords = no_keywords) -> Family:
    """Two inputs of different shapes, as PyTorch broadcasts them."""
    shapes = (((3, 4), (4,)), ((3, 1), (1, 4)), ((5,), ()), ((), (6,)), ((2, 3, 4), (3, 1)), ((1,), (33,)))

    def make(draw):
        for dtype, (left, right) in itertools.product(dtypes, shapes):
            args = (draw.values(left, dtype), draw.values(right, dtype))
            yield Case(args, keywords(draw), dtype, f"shapes {list(left)} and {list(right)}")

    return Family("broadcast", make)


def special(inputs: int, dtypes: Sequence[torch.dtype], keywords: Keywords = no_keywords) -> Family:
    """NaN, infinities, signed zeros and denormals, in every combination of two inputs."""

    def make(draw):
        for dtype in dtypes:
            numbers = special_values(dtype)
            rows = torch.tensor(list(itertools.product(numbers, repeat=inputs)), dtype=torch.float64).to(
                dtype
            )
            yield Case(tuple(rows[:, i].contiguous() for i in range(inputs)), keywords(draw), dtype)

    return Family("special", make)


def renewed(inputs: int, dtype: torch.dtype, keywords: Keywords = no_keywords) -> Family:
    """The same tensors in the same memory, called again with new contents."""

    def make(draw):
        for turn in range(4):
            # the last turn changes a few elements inside: a key made of the first or last ones does not tell
            if turn < 3:
                args = tuple(draw.values(64, dtype) for _ in range(inputs))
            else:
                args = tuple(draw.altered(arg) for arg in args)
            words = "the same tensors as in the call before, with new contents" if turn else ""
            yield Case(args, keywords(draw), dtype, words, renew=turn > 0)

    return Family("again", make)


def keyword_series(
    inputs: int, dtypes: Sequence[torch.dtype], series: Callable[[Draw], list[dict]]
) -> Family:
    """The same call with one keyword value after the other."""

    def make(draw):
        for dtype in dtypes:
            for keywords in series(draw):
                yield Case(tuple(draw.readable(4, dtype) for _ in range(inputs)), keywords, dtype)

    return Family("keywords", make, steady=True)
