"""From all findings of a check to the one message: the smallest case, what was expected, and why it may
be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..exercises import Case, Exercise
from . import patterns, show
from .compare import units
from .judge import Finding, expected_as_stored
from .shrink import cut, shape_of, shrink, window
from .verdict import Reason, Told

Again = Callable[[Case], Finding | None]


def tell(
    exercise: Exercise,
    candidate: object,
    findings: Sequence[Finding],
    passing: Sequence[Case],
    again: Again,
) -> Told:
    """Tell the first finding. `again` calls the answer once more on a case and judges the values."""
    first = findings[0]
    if first.diff is None:
        headline = first.headline or show.invocation(exercise, _shown(first.outcome.case))
        return Told(first.reason, headline, first.lines, first.explanation)
    valued = [finding for finding in findings if finding.diff is not None]
    reason, explanation = patterns.explain(exercise, candidate, first, valued, passing)
    if reason is not Reason.REMEMBERED and any(again(first.outcome.case) is None for _ in range(2)):
        reason, explanation = Reason.REMEMBERED, patterns.REMEMBERED  # the same call, made again, is right
    if reason is Reason.REMEMBERED:
        return _values(exercise, first, reason, explanation)
    return _values(exercise, _smaller(first, again), reason, explanation)


def _smaller(finding: Finding, again: Again) -> Finding:
    """A finding of the same kind on the smallest case found; the finding itself if none is smaller."""
    best = finding

    def fails(case: Case) -> bool:
        nonlocal best
        found = again(case)
        same = (
            found is not None
            and found.diff is not None
            and found.diff.nan_bad.any() == finding.diff.nan_bad.any()
        )
        best = found if same else best
        return same

    shrink(finding.outcome.case, finding.diff.first, fails)
    return best


def _values(exercise: Exercise, finding: Finding, reason: Reason, explanation: str) -> Told:
    case, shape = finding.outcome.case, finding.got.shape
    want, got, first = expected_as_stored(finding), finding.got, finding.diff.first
    spans = window(shape, first)
    cuts = tuple(slice(start, start + length) for start, length in spans)
    for dim, (start, length) in zip(range(-len(shape), 0), spans, strict=True):
        if length < shape[dim]:
            case = cut(case, dim, start, length)
    expected_text, got_text = show.pair(want[cuts], got[cuts])
    lines = [f"expected  {expected_text}", f"got       {got_text}{_place(shape, spans, first)}"]
    if reason is Reason.PRECISION and finding.want.scale is not None:
        lines.append(_distance(exercise, finding))
    return Told(reason, show.invocation(exercise, case), tuple(lines), explanation)


def _place(shape: tuple[int, ...], spans: list[tuple[int, int]], first: int) -> str:
    if not shape:
        return ""
    where = [int(i) for i in np.unravel_index(first, shape)]
    one = len(shape) == 1
    text = f"       first bad index {where[0] if one else tuple(where)}"
    if all(length == size for (_, length), size in zip(spans, shape, strict=True)):
        return text
    starts = [start for start, _ in spans]
    return f"{text} of {shape[0] if one else list(shape)} (shown from {starts[0] if one else starts})"


def _distance(exercise: Exercise, finding: Finding) -> str:
    off = units(finding.got, finding.want, finding.outcome.case.dtype)
    return (
        f"off by up to {np.nanmax(off[finding.diff.bad]):.3g} times the rounding unit; allowed: "
        f"{exercise.tolerance:g}"
    )


def _shown(case: Case) -> Case:
    """The case cut to a few elements for a message that is not about values."""
    shape = shape_of(case)
    for dim in range(-len(shape), 0):
        if shape[dim] > 4:
            case = cut(case, dim, 0, 4)
    return case
