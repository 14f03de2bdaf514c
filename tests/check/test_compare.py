import numpy as np
import pytest
import torch

from grader.check.compare import difference
from grader.exercises import Expected

NAN, INF = float("nan"), float("inf")


def bad(got, value, dtype=torch.float32, k=2.0, scale=None):
    value = np.asarray(value, dtype=np.float64)
    scale = np.abs(value) if scale is None else np.asarray(scale, dtype=np.float64)
    return difference(torch.tensor(got, dtype=dtype), Expected(value, scale), dtype, k).bad.tolist()


def test_near_is_right_and_farther_is_not():
    eps = 2.0**-23
    assert bad([1 + eps, 1 + 4 * eps], [1, 1]) == [False, True]
    assert bad([0.0, 1e-6], [0, 0], scale=[1, 1]) == [False, True]


def test_nan_is_no_wildcard():
    assert bad([NAN, 1.0, NAN, 0.0], [NAN, NAN, 1, 0]) == [False, True, True, False]


def test_infinities_have_signs():
    assert bad([INF, -INF, INF, 1.0], [INF, INF, 1e30, INF]) == [False, True, True, True]


def test_the_sign_of_zero_is_not_judged():
    assert bad([-0.0, 0.0], [0.0, -0.0]) == [False, False]


def test_denormals_may_be_off_by_their_spacing_but_not_flushed():
    tiny = 2.0**-140
    assert bad([tiny, 0.0], [tiny, tiny]) == [False, True]


def test_overflow_to_the_infinity_of_the_right_sign():
    assert bad([INF, -INF, 60000.0, 65504.0], [7e4, 7e4, 7e4, 65510], torch.float16) == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int64, torch.bool])
def test_integers_are_exact(dtype):
    value = np.array([0, 1])
    got = difference(torch.tensor([0, 0], dtype=dtype), Expected(value), dtype, 1e9)
    assert got.bad.tolist() == [False, True] and got.first == 1


def test_integers_beyond_the_type_wrap():
    assert (
        difference(torch.tensor([44], dtype=torch.uint8), Expected(np.array([300])), torch.uint8, 0).first
        is None
    )


def test_complex_numbers_compare_both_parts():
    value = np.array([1 + 2j, 1 + 2j])
    got = torch.tensor([1 + 2j, 1 - 2j], dtype=torch.complex64)
    assert difference(got, Expected(value, np.abs(value)), torch.complex64, 2).bad.tolist() == [False, True]
