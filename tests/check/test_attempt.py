import pytest
import torch

from grader import exercises
from grader.check import Reason, Values, check
from grader.check.attempt import is_untouched


def docstring_only(x):
    """Something."""


def ellipsis(x): ...


def docstring_and_ellipsis(x):
    """Something."""
    ...


def passes(x):
    pass


def returns_none(x):
    return None


async def coroutine(x):
    return x


@pytest.mark.parametrize(
    "candidate",
    [None, ..., docstring_only, ellipsis, docstring_and_ellipsis, passes, returns_none, lambda x: None],
)
def test_nothing_written_yet(candidate):
    assert is_untouched(candidate)


@pytest.mark.parametrize(
    "candidate",
    [lambda x: x, lambda x: 0, lambda: True, lambda x: print(x), coroutine, print, "text", 0, False, type],
)
def test_something_written(candidate):
    assert not is_untouched(candidate)


@pytest.mark.parametrize(
    "candidate, words",
    [
        ("template <typename T> T add(T x, T y) { return x + y; }", "_create_jit_fn"),
        ("// add\ntemplate <typename T> T add(T x, T y) { return x + y; }", "starts with a comment (line 1)"),
        ("", "the string is empty"),
        (3, "of type int"),
        (torch.ones(2), "of type Tensor"),
        ([1], "not the result of a call"),
    ],
)
def test_what_cannot_be_called_is_told_so(candidate, words):
    verdict = check(exercises.get("jit-add"), candidate)
    assert (verdict.values, verdict.reason) == (Values.ERROR, Reason.NOT_CALLABLE)
    assert words in f"{verdict.headline} {verdict.explanation}"
