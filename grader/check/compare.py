"""Values against the oracle's: |got - expected| <= k * eps(dtype) * S, NaN masks equal, integers exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..exercises import Expected
from ..exercises.wide import wide


@dataclass(frozen=True)
class Difference:
    """Elementwise outcome, in the shape of the expected value.

    bad       where the answer is not accepted
    nan_bad   where one of the two is NaN and the other is not
    """

    bad: np.ndarray
    nan_bad: np.ndarray

    @property
    def first(self) -> int | None:
        """Flat index of the first bad element, None if there is none."""
        where = np.flatnonzero(self.bad)
        return int(where[0]) if where.size else None


def exact_dtype(dtype: torch.dtype) -> bool:
    """True for integers and bool, whose values are compared exactly."""
    return not (dtype.is_floating_point or dtype.is_complex)


def wrapped(value: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """The exact integers `value` as the integer `dtype` holds them (two's complement wraparound)."""
    return value.astype(np.dtype(str(dtype).removeprefix("torch.")))


def units(got: np.ndarray, expected: Expected, dtype: torch.dtype) -> np.ndarray:
    """|got - expected| in units of eps(dtype) * S (plus the smallest subnormal): what the tolerance k
    bounds.
    """
    info = torch.finfo(dtype)
    with np.errstate(all="ignore"):
        return np.abs(got - expected.value) / (info.eps * (expected.scale + info.smallest_normal))


def difference(
    answer: torch.Tensor | np.ndarray, expected: Expected, dtype: torch.dtype, k: float
) -> Difference:
    """Compare an answer of the right shape and dtype (a CPU tensor, or wide values) with the expected one.

    0.0 and -0.0 are equal. Where the expected value is out of the dtype's range, the infinity of its sign
    is right.
    """
    got = wide(answer, dtype) if isinstance(answer, torch.Tensor) else answer
    if exact_dtype(dtype):
        return Difference(got != wrapped(expected.value, dtype), np.zeros(got.shape, dtype=bool))
    info = torch.finfo(dtype)
    value = expected.value
    nan_bad = np.isnan(got) != np.isnan(value)
    with np.errstate(all="ignore"):
        close = units(got, expected, dtype) <= k
        edge = info.max * (1 - k * info.eps)
        overflow = (np.abs(value) >= edge) & (np.abs(got) >= edge) & (np.sign(got) == np.sign(value))
    right = close | (got == value) | (np.isnan(got) & np.isnan(value)) | overflow
    return Difference(~right, nan_bad)
