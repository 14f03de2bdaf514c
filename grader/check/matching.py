"""Questions about findings and cases that the patterns ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..exercises import Case, Exercise, Expected
from .compare import difference, exact_dtype, units
from .judge import Finding


@dataclass(frozen=True)
class Clues:
    """What a pattern is recognised by.

    candidate  the answer itself
    first    the finding that is shown
    alike    findings of wrong values for the same dtype
    passing  calls that were right
    rivals   those of them whose dtype failed in other calls: a mistake has to be harmless in them
    """

    exercise: Exercise
    candidate: object
    first: Finding
    alike: Sequence[Finding]
    passing: Sequence[Case]
    rivals: Sequence[Case]


def is_finite(finding: Finding) -> bool:
    """Is the finding about plain numbers, with no NaN or infinity expected and no NaN got?"""
    return bool(np.isfinite(finding.want.value).all() and not finding.diff.nan_bad.any())


def is_always(
    exercise: Exercise, findings: Sequence[Finding], wrong: Callable[[Finding], np.ndarray | None]
) -> bool:
    """Does `wrong(finding)` give what was got, in every one of these findings?"""
    for finding in findings:
        try:
            value = wrong(finding)
            if value is None or np.shape(value) != finding.got.shape:
                return False
            dtype = finding.outcome.case.dtype
            guess = Expected(np.asarray(value), finding.want.scale)
            if exact_dtype(dtype) and not np.issubdtype(guess.value.dtype, np.floating):
                same = difference(finding.got, guess, dtype, exercise.tolerance).first is None
            elif exact_dtype(dtype):
                same = np.array_equal(np.trunc(guess.value), finding.got)
            else:
                scale = np.fmax(finding.want.scale, np.abs(np.nan_to_num(guess.value, posinf=0, neginf=0)))
                same = (
                    difference(finding.got, Expected(guess.value, scale), dtype, exercise.tolerance).first
                    is None
                )
        except Exception:
            return False  # the formula of a mistake need not be defined for every dtype
        if not same:
            return False
    return bool(findings)


def near(finding: Finding, dtype: torch.dtype, k: float) -> np.ndarray:
    """Which of the bad elements are within `k` rounding units?"""
    return units(finding.got, finding.want, dtype)[finding.diff.bad] <= k


def held_in(finding: Finding, dtype: torch.dtype, narrow: torch.dtype) -> bool:
    """Are the bad elements as far off as a pass through `narrow` makes them, its smaller range included?"""
    info, bad = torch.finfo(narrow), finding.diff.bad
    got, want = np.abs(finding.got[bad]), np.abs(finding.want.value[bad])
    close = near(finding, dtype, 8 * info.eps / torch.finfo(dtype).eps)
    under = (want <= info.smallest_normal) & (got <= info.smallest_normal)
    return bool((close | under | ((want > info.max / 2) & np.isinf(got))).all())


def through_float(finding: Finding) -> np.ndarray | None:
    """What was got, if it is as integers are after a pass through a float; else None."""
    got, want = finding.got.astype(np.float64), finding.want.value.astype(np.float64)
    info = np.iinfo(finding.got.dtype)
    saturated = (finding.got == info.min) | (finding.got == info.max)
    close = np.abs(got - want) <= 2.0**-20 * np.abs(want) + 1
    return finding.got if (close | saturated).all() else None


def alike(left: np.ndarray, right: np.ndarray) -> bool:
    """Are all elements equal but for 1%?"""
    return bool(np.allclose(left, right, rtol=1e-2, atol=0))


def _tensors(case: Case) -> list[torch.Tensor]:
    return [arg for arg in case.args if isinstance(arg, torch.Tensor)]


def is_strided(case: Case) -> bool:
    """Does one of the case's tensors lie in memory otherwise than in one piece from the start?"""
    return any(not arg.is_contiguous() or arg.storage_offset() for arg in _tensors(case))


def is_broadcast(case: Case) -> bool:
    """Do the case's tensors differ in shape?"""
    return len({arg.shape for arg in _tensors(case)}) > 1
