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


@pytest.mark.parametrize("exercise_id", ["hello-gpu", "jit-add"])
def test_a_name_in_quotes_is_told_to_drop_them(exercise_id):
    exercise = exercises.get(exercise_id)
    verdict = check(exercise, exercise.entry)
    assert verdict.reason is Reason.NOT_CALLABLE
    assert verdict.explanation == f"Hand over the function itself, without quotes: check({exercise.entry})."


def test_a_string_for_a_python_function_does_not_speak_of_kernels():
    verdict = check(exercises.get("hello-gpu"), "def double_on_gpu(values): ...")
    assert "kernel" not in str(verdict) and "jit" not in str(verdict)


def test_what_is_not_written_may_have_failed_in_its_cell():
    verdict = check(exercises.get("jit-add"), None)
    assert "If its cell stopped with an error, begin there." in verdict.explanation
