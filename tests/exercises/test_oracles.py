"""The oracles and tolerances: an honest kernel stays below k/2, half precision inside exceeds 10 k."""

import numpy as np
import pytest
import torch

from grader import exercises
from grader.check.compare import exact_dtype, units
from grader.exercises.draw import Draw
from grader.exercises.wide import wide

HONEST = {
    "hello-gpu": lambda values: 2 * values,
    "jit-add": lambda x, y: x + y,
    "jit-saxpy": lambda x, y, alpha=1.0: torch.tensor(alpha, dtype=x.dtype) * x + y,
    "jit-leaky-relu": lambda x, slope=0.01: torch.where(x > 0, x, torch.tensor(slope, dtype=x.dtype) * x),
    "compile-once": lambda x, alpha: torch.tensor(alpha, dtype=x.dtype) * x,
}
EVERY = pytest.mark.parametrize("exercise", exercises.all(), ids=lambda e: e.id)


def cases(exercise, seed):
    for number, family in enumerate(exercise.families):
        for case in family.make(Draw((seed, number))):
            yield family, case


def tensors(case):
    return [torch.tensor(a, dtype=case.dtype) if isinstance(a, list) else a.to(case.dtype) for a in case.args]


def worst(exercise, case, answer):
    with np.errstate(all="ignore"):
        expected = exercise.oracle(case)
        off = units(wide(answer, case.dtype), expected, case.dtype)
    return np.nanmax(off[np.isfinite(expected.value)], initial=0)


@EVERY
def test_an_honest_computation_stays_below_half_the_tolerance(exercise):
    for seed in range(3):
        for _, case in cases(exercise, seed):
            if not exact_dtype(case.dtype):
                answer = HONEST[exercise.id](*tensors(case), **case.kwargs)
                assert worst(exercise, case, answer) < exercise.tolerance / 2, (case.dtype, case.layout)


@EVERY
@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_half_precision_inside_is_ten_times_out_of_tolerance(exercise, narrow):
    for seed in range(3):
        seen = 0
        for family, case in cases(exercise, seed):
            if case.dtype == torch.float32 and family.name in ("dtypes", "large", "sizes"):
                args = [t.to(narrow) for t in tensors(case)]
                answer = HONEST[exercise.id](*args, **case.kwargs).to(torch.float32)
                if answer.numel() >= 31:
                    seen += 1
                    assert worst(exercise, case, answer) > 10 * exercise.tolerance
        assert seen


@EVERY
def test_float64_answers_are_judged_by_something_wider(exercise):
    for _, case in cases(exercise, 0):
        if case.dtype == torch.float64:
            with np.errstate(all="ignore"):
                assert exercise.oracle(case).value.dtype == np.longdouble


@EVERY
def test_what_design_asks_of_the_cases(exercise):
    every = [case for _, case in cases(exercise, 5)]
    counts = {len(c.args[0]) if isinstance(c.args[0], list) else c.args[0].numel() for c in every}
    assert {0, 1, 31, 33, 127, 1009} <= counts
    assert {c.dtype for c in every} == set(exercise.dtypes)
    if exercise.returns == "list":
        return
    assert {32, 128, 129, 2**20 + 1} <= counts
    inputs = [arg for c in every for arg in c.args]
    assert any(0 in arg.stride() and arg.numel() for arg in inputs)
    assert any(arg.dim() == 2 and arg.stride(0) == 1 and arg.size(0) > 1 for arg in inputs)
    assert any(arg.storage_offset() % 2 for arg in inputs)
    assert any(arg.dim() == 1 and arg.stride(0) == 2 for arg in inputs)
    assert any(c.renew for c in every)
    for dtype in exercise.dtypes:
        if dtype.is_floating_point:
            seen = torch.cat(
                [c.args[0].flatten() for c in every if c.dtype == dtype and c.args[0].dtype == dtype]
            )
            tiny = torch.finfo(dtype).smallest_normal
            assert seen.isnan().any() and seen.isinf().any()
            assert ((seen == 0) & seen.signbit()).any() and ((seen != 0) & (seen.abs() < tiny)).any()


def test_equal_seeds_give_equal_cases_and_others_do_not():
    exercise = exercises.get("jit-add")

    def drawn(seed):
        return torch.cat(
            [
                c.args[0].double().flatten()
                for _, c in cases(exercise, seed)
                if c.dtype == torch.float32 and c.args[0].numel() < 2**20
            ]
        ).nan_to_num()

    assert torch.equal(drawn(1), drawn(1)) and not torch.equal(drawn(1), drawn(2))


def test_integers_wrap_and_bool_is_or():
    add = exercises.get("jit-add")
    case = exercises.Case((torch.tensor([2**63 - 1]), torch.tensor([1])), {}, torch.int64)
    assert add.oracle(case).value.tolist() == [-(2**63)]
    case = exercises.Case((torch.tensor([True, False]), torch.tensor([True, False])), {}, torch.bool)
    assert add.oracle(case).value.tolist() == [True, False]
