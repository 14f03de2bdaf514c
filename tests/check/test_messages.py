"""What a learner reads: the smallest case, expected, got, and what the pattern usually means."""

import re

import pytest
import torch

from grader import exercises
from grader.check import Reason, check


def kernel(text, **keywords):
    return torch.cuda.jiterator._create_jit_fn(f"template <typename T> {text}", **keywords)


LEAKY = exercises.get("jit-leaky-relu")
SAXPY = exercises.get("jit-saxpy")
ADD = exercises.get("jit-add")


def test_a_lost_nan_is_shown_in_four_numbers():
    verdict = check(
        LEAKY, kernel("T f(T x, T slope) { return x > 0 ? x : x < 0 ? slope * x : T(0); }", slope=0.01)
    )
    assert re.fullmatch(r"leaky_relu\(\[nan, -1, 0, 2\], slope=[\d.]+\), float32", verdict.headline)
    assert re.fullmatch(r"expected  \[nan, -[\d.]+, 0, 2\]", verdict.lines[0])
    assert re.fullmatch(r"got       \[0, -[\d.]+, 0, 2\]       first bad index 0", verdict.lines[1])
    assert "NaN was lost" in verdict.explanation and verdict.explanation.endswith("?")


@pytest.mark.parametrize(
    "exercise, make, words",
    [
        (SAXPY, lambda: kernel("T f(T x, T y, T a) { return x + y; }", alpha=1.0), "alpha has no effect"),
        (SAXPY, lambda: kernel("T f(T x, T y, T a) { return x + a * y; }", alpha=1.0), "it belongs to x"),
        (SAXPY, lambda: kernel("T f(T a, T x, T y) { return a * x + y; }", alpha=1.0), "another order"),
        (SAXPY, lambda: kernel("T f(T x, T y, int a) { return a * x + y; }", alpha=1.0), "lost its fraction"),
        (
            SAXPY,
            lambda: kernel("T f(T x, T y, T a) { return -(a * x + y); }", alpha=1.0),
            "Every sign is flipped",
        ),
        (
            SAXPY,
            lambda: kernel("T f(T x, T y, T a) { T r = a * x + y; return r < 0 ? -r : r; }", alpha=1.0),
            "lost their sign",
        ),
        (
            SAXPY,
            lambda: kernel("T f(T x, T y, T a) { return T(int(a * x + y)); }", alpha=1.0),
            "fractions are cut off",
        ),
        (SAXPY, lambda: kernel("T f(T x, T y, T a) { return a * x + y + T(1); }", alpha=1.0), "1 too large"),
        (
            SAXPY,
            lambda: kernel("T f(T x, T y, T a) { return T(2) * (a * x + y); }", alpha=1.0),
            "twice as large",
        ),
        (SAXPY, lambda: kernel("T f(T x, T y, T a) { return a * x + y; }", alpha=1.5), "do not give `alpha`"),
        (LEAKY, lambda: kernel("T f(T x, T s) { return x > 0 ? x : T(0); }", slope=0.01), "this is relu"),
        (
            LEAKY,
            lambda: kernel("T f(T x, T s) { return x > s * x ? x : s * x; }", slope=0.01),
            "larger of x and slope * x",
        ),
        (
            LEAKY,
            lambda: kernel("T f(T x, T s) { return x > 0 ? x : T(0.01) * x; }", slope=0.01),
            "0.01 is always used",
        ),
        (ADD, lambda: kernel("T f(T x, T y) { return x - y; }"), "subtract"),
        (ADD, lambda: kernel("T f(T x, T y) { return T(int(x) + int(y)); }"), "fractions are cut off before"),
    ],
)
def test_the_pattern_is_named(exercise, make, words):
    verdict = check(exercise, make())
    assert words in verdict.explanation, verdict


SCALE = "T f(T x, T alpha) { return alpha * x; }"


@pytest.mark.parametrize(
    "exercise_id, make, words",
    [
        (
            "jit-saxpy",
            lambda: kernel("T f(T x, T y, T a) { return 2.5f * x + y; }", alpha=1.0),
            "alpha has no effect: 2.5 is always used, whatever the call says. Where does your code use",
        ),
        (
            "jit-leaky-relu",
            lambda: kernel("T f(T x, T s) { return x > 0 ? x : T(-.25) * x; }", slope=0.01),
            "slope has no effect: -0.25 is always used",
        ),
        (
            "compile-once",
            lambda: (lambda k: lambda x, alpha: k(x))(kernel(SCALE, alpha=1.0)),
            "alpha has no effect. Does your call hand it to the kernel, by name: `alpha=alpha`?",
        ),
        (
            "compile-once",
            lambda: (lambda k: lambda x, alpha: k(x))(kernel(SCALE, alpha=2.5)),
            "alpha has no effect: 2.5 is always used, whatever the call says. Does your call hand alpha to",
        ),
        (
            "compile-once",
            lambda: (lambda k: lambda x, alpha: k(x, alpha=0.75))(kernel(SCALE, alpha=1.0)),
            "alpha has no effect: 0.75 is always used",
        ),
    ],
)
def test_a_keyword_without_effect_is_named_and_not_called_memory(exercise_id, make, words):
    for seed in range(1, 6):  # with some seeds the first call happens to give that number
        verdict = check(exercises.get(exercise_id), make(), seed=seed)
        assert verdict.reason is Reason.VALUE and words in verdict.explanation, verdict


def test_an_unchanged_input_does_not_speak_of_double_by_itself():
    verdict = check(exercises.get("hello-gpu"), lambda v: torch.tensor(v, device="cuda").tolist())
    assert "nothing was done to it" in verdict.explanation and "double" not in verdict.explanation


def test_double_is_explained_where_the_code_has_it():
    verdict = check(exercises.get("hello-gpu"), lambda v: torch.tensor(v, device="cuda").double().tolist())
    assert "`.double()` converts to the type float64" in verdict.explanation


def test_which_comparisons_are_false_for_nan():
    verdict = check(LEAKY, kernel("T f(T x, T s) { return x > 0 ? x : x < 0 ? s * x : T(0); }", slope=0.01))
    assert "`<`, `>`, `<=`, `>=` and `==` are false for NaN" in verdict.explanation
    assert "`<`, `>`, `<=`, `>=` and `==` are false" in LEAKY.hints[1]


def test_a_small_tensor_beside_the_inputs_is_no_pass_over_memory():
    k = kernel("T f(T x, T y, T a) { return a * x + y; }")
    verdict = check(SAXPY, lambda x, y, alpha=1.0: k(x, y, torch.tensor(alpha, device="cuda", dtype=x.dtype)))
    assert verdict.passed and verdict.counts["passes"] == SAXPY.limits.passes


def test_a_pattern_that_only_sometimes_holds_is_not_named():
    """For slopes above 1 `max` looks like swapped branches; the calls that were right say otherwise."""
    for _ in range(5):
        verdict = check(LEAKY, kernel("T f(T x, T s) { return x > s * x ? x : s * x; }", slope=0.01))
        assert "swapped" not in verdict.explanation


def test_a_large_failing_case_is_cut_down_to_a_window():
    k = kernel("T f(T x, T y) { return x + y; }")

    def add(x, y):
        out = k(x, y)
        if out.numel() > 100:
            out[100:] = 7
        return out

    verdict = check(ADD, add)
    assert verdict.reason is Reason.TAIL
    assert len(verdict.headline) < 200 and "first bad index 100 of 128" in verdict.lines[1]


def test_a_fault_that_follows_the_layout_says_so():
    k = kernel("T f(T x, T y) { return x + y; }")
    verdict = check(ADD, lambda x, y: k(x, y) if x.is_contiguous() else k(x, y) + 1)
    assert verdict.reason is Reason.STRIDED
    assert "x is every second element of a larger tensor" in verdict.headline


def test_one_wrong_dtype_among_many_is_named_in_the_headline():
    k = kernel("T f(T x, T y) { return x + y; }")
    verdict = check(ADD, lambda x, y: k(x, y) if x.dtype != torch.int64 else k(x.double(), y.double()).long())
    assert verdict.reason is Reason.PRECISION and "int64" in verdict.headline
    assert "a large integer went through" in verdict.explanation


def test_a_compile_error_shows_only_their_line():
    verdict = check(
        ADD,
        torch.cuda.jiterator._create_jit_fn(
            "template <typename T>\nT add(T x, T y) {\n  T z = x + yy;\n  return z;\n}"
        ),
    )
    assert verdict.reason is Reason.COMPILE and verdict.headline == "your kernel does not compile for float32"
    assert verdict.lines[0].startswith("line 3: ") and verdict.lines[1] == "    T z = x + yy;"


def test_a_double_literal_is_a_warning_not_a_failure():
    verdict = check(LEAKY, kernel("T f(T x, T s) { return x > 0.0 ? x : s * x; }", slope=0.01))
    assert verdict.passed and len(verdict.warnings) == 1 and "T(0.0)" in verdict.warnings[0]


def test_no_message_holds_an_address_or_a_path():
    for candidate in (lambda x, y: object(), lambda x, y: x.nothing, lambda x, y: torch.load("/nonexistent")):
        assert not re.search(
            r"0x[0-9a-f]{6}|/work|/tmp|site-packages", str(check(ADD, candidate).to_json()["lines"])
        )
