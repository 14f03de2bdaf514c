"""Starters and solutions as the learner's notebook runs them."""

import pytest
import torch

from grader import exercises
from grader.check import Reason, Values, check

EVERY = pytest.mark.parametrize("exercise", exercises.all(), ids=lambda e: e.id)


def run(exercise, source):
    names = {"torch": torch}
    exec(compile(source, "<ipython-input-1-answer>", "exec"), names)
    return names[exercise.entry]


@EVERY
def test_a_starter_is_not_attempted(exercise):
    verdict = check(exercise, run(exercise, exercise.starter))
    assert (verdict.values, verdict.reason, verdict.passed) == (
        Values.NOT_ATTEMPTED,
        Reason.NOT_ATTEMPTED,
        False,
    )


@EVERY
def test_a_solution_passes_without_a_warning_and_says_the_same_each_time(exercise):
    answer = run(exercise, exercise.solution)
    verdict = check(exercise, answer)
    assert verdict.passed and not verdict.warnings, verdict
    assert all(passed == total > 0 for passed, total in verdict.families.values())
    assert check(exercise, answer) == verdict == check(exercise, answer, seed=7)


@EVERY
def test_solving_only_replaces_inside_the_marked_region(exercise):
    assert exercise.solution.endswith("\n") and exercise.starter.endswith("\n")
    assert "SOLUTION" not in exercise.solution + exercise.starter
