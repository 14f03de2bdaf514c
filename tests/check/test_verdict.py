import json

import pytest
import torch

from grader import exercises
from grader.check import Reason, Speed, Values, Verdict, check


def wrong():
    return check(exercises.get("hello-gpu"), lambda values: [0.0] * len(values))


def test_json_and_back():
    for verdict in (wrong(), check(exercises.get("hello-gpu"), None)):
        record = json.loads(json.dumps(verdict.to_json()))
        assert Verdict.from_json(record) == verdict


def test_a_slow_answer_does_not_pass_and_an_untimed_one_does():
    assert Verdict("x", Values.PASS).passed and Verdict("x", Values.PASS).speed is Speed.NOT_TIMED
    assert not Verdict("x", Values.PASS, speed=Speed.SLOW).passed
    assert not Verdict("x", Values.WRONG, Reason.VALUE, speed=Speed.FAST).passed


def test_a_seed_is_told_on_failure_and_reproduces_it():
    first = wrong()
    assert first.seed
    again = check(exercises.get("hello-gpu"), lambda values: [0.0] * len(values), seed=first.seed)
    assert again == first


def test_two_checks_draw_different_inputs():
    assert len({wrong().headline for _ in range(4)}) > 1


def test_families_give_partial_credit():
    def positive_only(values):
        return (2 * torch.tensor(values, device="cuda")).tolist() if len(values) < 33 else [0.0]

    verdict = check(exercises.get("hello-gpu"), positive_only)
    assert verdict.families == {"small": (3, 3), "sizes": (3, 7)}


@pytest.mark.parametrize("exercise", exercises.all(), ids=lambda e: e.id)
def test_the_learners_random_state_is_neither_read_nor_changed(exercise):
    import random

    import numpy as np

    drawn = []
    for _ in range(2):
        random.seed(1), np.random.seed(1), torch.manual_seed(1)
        states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

        def zeros(*args, **kwargs):
            return args[0]

        verdict = check(exercise, zeros)
        assert states == (
            random.getstate(),
            np.random.get_state()[1].tolist(),
            torch.get_rng_state().tolist(),
        )
        drawn.append(verdict.seed)
    assert drawn[0] != drawn[1]
