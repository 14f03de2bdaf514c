"""Wrong answers, each with the verdict it must get, and honest ones that must pass. One file an exercise."""

import pytest

from grader import exercises, simgpu
from grader.check import check


@pytest.fixture(autouse=True, scope="session")
def gpu():
    simgpu.activate()


@pytest.fixture
def rejected():
    """rejected(id, make, values, reason): the answer that make() builds gets exactly this verdict."""

    def judge(exercise_id, make, values, reason):
        verdict = check(exercises.get(exercise_id), make())
        assert (verdict.values, verdict.reason) == (values, reason), verdict
        assert verdict.headline and verdict.explanation, verdict
        return verdict

    return judge


@pytest.fixture
def accepted():
    """accepted(id, make): the answer that make() builds passes."""

    def judge(exercise_id, make):
        verdict = check(exercises.get(exercise_id), make())
        assert verdict.passed, verdict
        return verdict

    return judge
