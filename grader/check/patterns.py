"""What a wrong answer usually means: the patterns that learners' mistakes leave in the values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from ..exercises import Case, Exercise
from ..exercises.wide import wide
from .call import expected
from .compare import difference
from .jit_source import fixed_type
from .judge import Finding, parameter
from .kernels import calls_method, is_kernel, kernels_of
from .keywords import unused_keyword
from .matching import Clues, is_always, is_broadcast, is_finite, is_strided
from .numbers import neighbours, precision, transformed
from .show import dtype_name
from .verdict import Reason

Pattern = tuple[Reason, str]
MOST = 12  # failing calls that a pattern must explain
ENOUGH = 3  # calls without a circumstance that passed, before the circumstance is blamed
LARGEST = 4096  # elements of an earlier answer that is compared
REMEMBERED = (
    "This is the right answer to an earlier call: the function remembers something. What does it keep "
    "between calls, and how does it notice that the contents are new?"
)


def explain(
    exercise: Exercise,
    candidate: object,
    first: Finding,
    failing: Sequence[Finding],
    passing: Sequence[Case],
) -> Pattern:
    """Reason and explanation of `first`, the finding to be shown, a wrong value of `candidate`.

    failing   all findings of wrong values in this check, passing: the cases that were right
    """
    if first.reason is Reason.UNWRITTEN:
        return first.reason, (
            "These elements hold what lay in that memory before: nothing wrote them. Does every element of "
            "the result get a value?"
        )
    alike = [f for f in failing if f.outcome.case.dtype == first.outcome.case.dtype]
    if is_finite(first):  # NaN and infinities hide what happens to plain numbers
        alike = [f for f in alike if is_finite(f)]
    failed = {f.outcome.case.dtype for f in failing}
    rivals = [case for case in passing if case.dtype in failed]
    clues = Clues(exercise, candidate, first, alike[:MOST], passing, rivals)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for recognise in (
            _circumstances,
            _uniform,
            _inputs,
            _old_answers,
            _tail,
            _variants,
            unused_keyword,
            _nan,
            transformed,
            precision,
            neighbours,
        ):
            for reason, words in recognise(clues):
                return reason or first.reason, words
    return first.reason, (
        "The values follow none of the usual mistakes. Take the first bad element, compute it by hand as "
        "your code says, step by step, and see where the two part."
    )


def _first_bad_is_nan(first: Finding) -> bool:
    return bool(first.diff.nan_bad.any())


def _uniform(clues: Clues) -> Iterator:
    if clues.first.got.size < 2:
        return
    if all(not np.nan_to_num(f.got).any() and f.want.value.any() for f in clues.alike):
        yield (
            None,
            "Every element is 0. Memory that was never written, or a result that was never returned, often "
            "looks like this. Where does the computed value go?",
        )
    flat = [f.got.ravel() for f in clues.alike]
    if all((one == one[0]).all() for one in flat):
        case = clues.first.outcome.case
        for kernel in kernels_of(clues.candidate) if case.dtype.is_complex else ():
            if words := fixed_type(kernel.code_string, kernel.kernel_name, len(case.args)):
                yield None, f"{words} A {dtype_name(case.dtype)} does not fit into it."
        yield (
            None,
            "Every element is the same number, whatever the input. Does your code use the elements of its "
            "inputs, or one of them for all?",
        )


def _inputs(clues: Clues) -> Iterator:
    for position, arg in enumerate(clues.first.outcome.case.args):
        if isinstance(arg, (torch.Tensor, list)) and is_always(
            clues.exercise, clues.alike, lambda f, p=position: _input(f, p)
        ):
            name = parameter(clues.exercise, position)
            yield None, f"The result equals {name}: nothing was done to it{_instead(clues)}"


def _instead(clues: Clues) -> str:
    """How an input may have come out unchanged, as the end of a sentence."""
    if calls_method(clues.candidate, "double"):
        return (
            ". (`.double()` converts to the type float64; it does not multiply.) What should happen to each "
            "element?"
        )
    keywords = clues.first.outcome.case.kwargs
    if keywords and not is_kernel(clues.candidate):
        name = next(iter(keywords))
        return f", and {name} has no effect. Does your call hand it to the kernel, by name: `{name}={name}`?"
    return ". What should happen to each element?"


def _input(finding: Finding, position: int) -> np.ndarray:
    arg = finding.outcome.case.args[position]
    if isinstance(arg, list):
        return np.asarray(arg)
    return np.broadcast_to(wide(arg, finding.outcome.case.dtype), finding.got.shape)


def _old_answers(clues: Clues) -> Iterator:
    def key(case, want):
        return case.dtype, want.value.shape

    old: dict = {}
    for case in clues.passing:
        want = expected(clues.exercise, case)
        if 1 < want.value.size <= LARGEST:
            old.setdefault(key(case, want), []).append(want)
    for finding in clues.alike:
        mine = key(finding.outcome.case, finding.want)
        others = old.get(mine, []) + [
            f.want for f in clues.alike if f is not finding and key(f.outcome.case, f.want) == mine
        ]
        if not any(
            difference(finding.got, want, mine[0], clues.exercise.tolerance).first is None for want in others
        ):
            return
    yield Reason.REMEMBERED, REMEMBERED


def _tail(clues: Clues) -> Iterator:
    wrong, starts = 0, []
    for finding in clues.alike:
        bad = finding.diff.bad.ravel()
        if bad.size < 8 or not is_finite(finding):
            continue
        start = int(np.flatnonzero(bad)[0])
        wrong += 1
        starts.append(bool(start >= 4 and bad[start:].mean() > 0.9))
    if wrong and all(starts):
        yield (
            Reason.TAIL,
            "Only the tail is wrong: the last elements, and no others. Work that is cut into blocks leaves "
            "a rest when the size is no multiple of the block. Who handles the rest?",
        )


def _variants(clues: Clues) -> Iterator:
    for variant in clues.exercise.variants:
        if is_always(clues.exercise, clues.alike, lambda f, v=variant: v.value(f.outcome.case)) and _fits(
            clues.exercise, clues.rivals, variant
        ):
            yield None, variant.says


def _fits(exercise: Exercise, right: Sequence[Case], variant) -> bool:
    """Does the mistake give the right values, as it must, in the calls that were right?"""
    for case in right:
        want = expected(exercise, case)
        if (
            want.value.size <= LARGEST
            and difference(np.asarray(variant.value(case)), want, case.dtype, exercise.tolerance).first
            is not None
        ):
            return False
    return True


def _nan(clues: Clues) -> Iterator:
    if not _first_bad_is_nan(clues.first):
        return
    index = int(np.flatnonzero(clues.first.diff.nan_bad)[0])
    if np.isnan(clues.first.want.value.ravel()[index]):
        yield (
            Reason.NAN_MASK,
            "NaN was lost. In C++ `<`, `>`, `<=`, `>=` and `==` are false for NaN, and max and min return "
            "the other number. Which way does a NaN take through your code?",
        )
    else:
        yield (
            Reason.NAN_MASK,
            "A NaN appeared where a number is expected. 0 * inf, inf - inf and 0 / 0 are NaN, also in a "
            "branch whose value is multiplied by 0. Which operation of yours meets such numbers?",
        )


def _circumstances(clues: Clues) -> Iterator:
    """What all calls that failed share, and enough plain calls that passed do not."""
    cases = [f.outcome.case for f in clues.alike]
    given = [c for c in clues.passing if c.dtype == cases[0].dtype and c.kwargs]
    if len(given) >= ENOUGH and not any(c.kwargs for c in cases):
        name = next(iter(given[0].kwargs))
        yield (
            Reason.DEFAULT,
            f"Only calls that do not give `{name}` go wrong: then its default counts. Where is the default "
            "written, and what does the signature say?",
        )
    plain = [
        c for c in clues.passing if c.dtype == cases[0].dtype and not is_strided(c) and not is_broadcast(c)
    ]
    if len(plain) < ENOUGH:
        return
    if all(map(is_strided, cases)):
        yield (
            Reason.STRIDED,
            "Only tensors that do not lie in one piece go wrong. Element i of such a tensor is not element "
            "i of its memory: what in your code takes it for that?",
        )
    if all(map(is_broadcast, cases)):
        yield (
            Reason.BROADCAST,
            "Only inputs of different shapes go wrong: they broadcast. Which element of the smaller one "
            "belongs to each element of the result?",
        )
