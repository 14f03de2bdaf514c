"""How much a kernel's text computes."""

import math

import pytest

from grader.simgpu.clock.arithmetic import multiply_adds
from grader.simgpu.clock.arithmetic_python import multiply_adds_of


def kernel(body):
    return "template <typename T> T f(T x, T y) { " + body + " }"


@pytest.mark.parametrize(
    "body, expected",
    [
        ("return x;", 0),
        ("return x + y;", 1),
        ("return x * y;", 1),
        ("return x * y + x;", 1),
        ("return x * y + x * x + y;", 2),
        ("return x / y;", 8),
        ("return exp(x);", 10),
        ("return expf(x);", 10),
        ("// x * y * x\n return x; /* x + x */", 0),
        ("for (int i = 0; i < 2000; ++i) x = x * y + y; return x;", 2000),
        ("for (int i = 0; i < 2000; ++i) { x = x * y + y; } return x;", 2000),
        ("for (int i = 1; i <= 10; i++) { x = x * y + y; x = x * y + y; } return x;", 20),
        ("for (int i = 0; i < 100; i += 4) x = x + y; return x;", 25),
        ("for (int i = 0; i < 10; ++i) for (int j = 0; j < 10; ++j) x = x * y + y; return x;", 100),
        ("for (int i = 0; i < 10; ++i) { for (int j = 0; j < 10; ++j) { x = x + y; } x = x + y; }", 110),
        ("for (int i = 0; i < 10; ++i) x = x + y; for (int i = 0; i < 10; ++i) x = x + y; return x;", 20),
        ("for (int i = 0; i < n; ++i) x = x + y; return x;", 16),
        ("while (x < y) { x = x + y; } return x;", 16),
    ],
)  # fmt: skip
def test_what_is_counted(body, expected):
    assert multiply_adds(kernel(body)) == expected


@pytest.mark.parametrize(
    "code", ["", "for (", "template <typename T> T f(T x) { for (;;) {", "while (1) x = x + 1"]
)
def test_code_that_is_no_code_does_no_harm(code):
    assert multiply_adds(code) >= 0


ROUNDS = 50


def chain(o, x):
    v = x[0]
    for _ in range(2000):
        v = v * 0.999 + 0.001
    o[0] = v


def nested(o, x):
    for i in range(10):
        for j in range(0, ROUNDS, 5):
            o[j] += x[i] * x[j]


def unknown(o, x):
    for i in range(x.size):
        o[i] = x[i] + 1
    while o[0] > 0:
        o[0] -= 1


def functions(o, x):
    o[0] = math.exp(x[0]) / x[1]


def endless(o, x):
    o[0] = recursive(x[0]) + 1


def recursive(v):
    return recursive(v) + 1


recursive.py_func = recursive  # as a device function of numba's has


@pytest.mark.parametrize(
    "function, expected",
    [(chain, 2000), (nested, 10 * 10), (unknown, 16 + 16), (functions, 10 + 8), (len, 0)],
)
def test_what_is_counted_in_python(function, expected):
    assert multiply_adds_of(function) == expected


def test_a_function_that_calls_itself_is_counted_to_an_end():
    assert 1 <= multiply_adds_of(endless) < 100


def test_a_function_whose_source_is_not_known_counts_nothing():
    names = {}
    exec("def f(o, x): o[0] = x[0] * 2", names)
    assert multiply_adds_of(names["f"]) == 0
