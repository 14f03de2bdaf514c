"""For every exercise: zeros, the input itself, a constant and the previous answer fail, whatever else is
right.
"""

import pytest
import torch

from grader import exercises
from grader.check import Reason, Values, check

EVERY = pytest.mark.parametrize("exercise", exercises.all(), ids=lambda e: e.id)


def answer_of(exercise):
    names = {"torch": torch}
    exec(exercise.solution, names)
    return names[exercise.entry]


def filled(exercise, number):
    """An answer of the right kind, shape and dtype, made on the GPU, that holds the same number
    everywhere.
    """
    right = answer_of(exercise)

    def candidate(*args, **kwargs):
        result = right(*args, **kwargs)
        return [number] * len(result) if exercise.returns == "list" else torch.full_like(result, number)

    return candidate


def previous(exercise):
    right, last = answer_of(exercise), {}

    def candidate(*args, **kwargs):
        now = right(*args, **kwargs)
        key = len(now) if exercise.returns == "list" else (now.shape, now.dtype)
        old = last.get(key, now)
        last[key] = now
        return old

    return candidate


@EVERY
@pytest.mark.parametrize("number", [0, 1])
def test_zeros_and_a_constant_fail(exercise, number):
    verdict = check(exercise, filled(exercise, number))
    assert (verdict.values, verdict.reason) == (Values.WRONG, Reason.VALUE)
    assert ("Every element is 0" if number == 0 else "the same number") in verdict.explanation


@EVERY
def test_the_input_itself_fails(exercise):
    verdict = check(exercise, lambda first, *rest, **kwargs: first)
    expected = (Values.WRONG, Reason.VALUE) if exercise.returns == "list" else (Values.UNSAFE, Reason.ALIASED)
    assert (verdict.values, verdict.reason) == expected


@EVERY
def test_a_copy_of_the_input_fails(exercise):
    verdict = check(
        exercise,
        lambda first, *rest, **kwargs: first.clone() if isinstance(first, torch.Tensor) else first[:],
    )
    assert (verdict.values, verdict.reason) == (Values.WRONG, Reason.VALUE)
    assert "nothing was done to it" in verdict.explanation


@EVERY
def test_the_previous_answer_fails(exercise):
    verdict = check(exercise, previous(exercise))
    assert (verdict.values, verdict.reason) == (Values.WRONG, Reason.REMEMBERED)


@EVERY
def test_one_element_that_would_broadcast_fails(exercise):
    right = answer_of(exercise)
    verdict = check(exercise, lambda *args, **kwargs: right(*args, **kwargs)[:1])
    assert (verdict.values, verdict.reason) == (Values.WRONG, Reason.SHAPE)
