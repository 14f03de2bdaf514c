"""Rewritten kernels follow the GPU's integer rules and are otherwise the same kernels."""

from __future__ import annotations

import pytest
import torch

from grader.simgpu.native.rewrite import rewrite

create = torch.cuda.jiterator._create_jit_fn


def values(body, x, dtype=torch.int32, **kwargs):
    kernel = create("template <typename T> T f(T x) { " + body + " }", **kwargs)
    return kernel(torch.tensor(x, dtype=dtype, device="cuda")).tolist()


@pytest.mark.parametrize(
    ("body", "x", "expected"),
    [
        ("return 100 / x * 3 % 7;", [7, 9], [100 // 7 * 3 % 7, 100 // 9 * 3 % 7]),
        ("return 1 + x / 2 - x % 3;", [7, 10], [1 + 3 - 1, 1 + 5 - 1]),
        ("return -x / 2;", [7], [-3]),
        ("return x / -2;", [7], [-3]),
        ("return x << 1 + 1;", [3], [12]),
        ("return 1 << x << 1;", [3], [16]),
        ("return x >> 1 < 3 ? 1 : 2;", [5, 6], [1, 2]),
        ("x /= 2; x *= 10; x %= 7; x <<= 3; x >>= 1; return x;", [9], [(9 // 2 * 10 % 7 << 3) >> 1]),
        ("int n = 7 / 2; int m = n++ / 2; return m + n;", [0], [1 + 4]),
        ("int v[8 / 2] = {1, 2, 3, 4}; return v[x / 2];", [7], [4]),
        (
            "switch (x) { case 8 / 2: return 1; case 1 << 3: return 2; default: return 3; }",
            [4, 8, 9],
            [1, 2, 3],
        ),
        ("for (int i = 0; i < 3; ++i) x += i / 2; return x;", [0], [1]),
        ("auto half = [](int n) { return n / 2; }; return half(x);", [7], [3]),
        ("auto real = [&](T n) { return n * 0.5; }; return real(x) * 10;", [7], [35]),
        ("return (T)2.7 + T(3.9) + static_cast<T>(1.2);", [0], [6]),
        ("return (x) / (2);", [7], [3]),
        ("return (int)(double)(int)x / (T)(float)2;", [7], [3]),
        ("return x /* half / */ / 2; // a / b\n", [7], [3]),
        ("const char* s = \"a / b %\"; return s[0] == 'a' && s[2] == '/' ? x / 2 : 0;", [7], [3]),
        ("unsigned long long big = 1ull << 40; return big >> 38;", [0], [4]),
        (
            "struct P { T a; P operator/(P o) const { return P{a * o.a}; } }; return (P{x} / P{3}).a;",
            [5],
            [15],
        ),
        ("return 1'000 / x;", [3], [333]),
        ("return sizeof(int) / 2 + x;", [3], [5]),
        ("T y; y = x / 2.0; return y;", [7], [3]),
        ("T a = x, b = a / 2, c = b ? a : b; return a + b + c;", [6], [15]),
        ("return x ? 10 / x : x;", [0, 5], [0, 2]),
    ],
)
def test_expressions_keep_their_meaning(body, x, expected):
    assert values(body, x) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return (6 + x) / x;", [-1]),
        ("return 7 / x % 3;", [-1]),
        ("return 3 * 7 / x;", [-1]),
        ("x = 5; int zero = 0; return x / zero;", [-1]),
        ("int n = 7; n /= x; return n;", [-1]),
        ("return T(3e9) == 2147483647;", [1]),
        ("return (T)3e9 == 2147483647;", [1]),
        ("T y = 3e9; return y == 2147483647;", [1]),
        ("T y; y = -3e9; return y == -2147483647 - 1;", [1]),
        ("return 3e9;", [2147483647]),
        ("return (short)(3e9 + x);", [-1]),
        ("return int(3e9f + x) == 2147483647 ? 1 : 2;", [1]),
        ("return 1 << (x + 32);", [0]),
        ("return -5 >> (x + 40);", [-1]),
        ("return 1 << (x - 1);", [0]),
    ],
)
def test_what_the_gpu_does(body, expected):
    assert values(body, [0]) == expected


def test_a_kernel_that_the_rewriting_would_break_still_works():
    body = "std::complex<std::complex<float>>* p = nullptr; return p == nullptr ? x / T(2) : x;"
    kernel = create("template <typename T> T f(T x, int n) { int m = n / 2; " + body + " }", n=8)
    z = torch.tensor([2 + 4j], device="cuda")
    assert kernel(z).tolist() == [1 + 2j]


def test_a_division_that_the_rewriting_does_not_see_is_mended_at_the_processor():
    """A macro: the text has no operator between operands."""
    code = "template <typename T> T f(T a, T b) {\n#define OVER /\n return a OVER b; }"
    kernel = create(code)
    a, b = (torch.tensor(v, dtype=torch.int32, device="cuda") for v in ([7, 7, -(2**31)], [2, 0, -1]))
    assert kernel(a, b).tolist() == [3, -1, -(2**31)]


def test_float_kernels_without_integers_stay_as_they_are():
    assert rewrite("template <typename T> T f(T x) { return x / T(2); }", integer=False) is None


@pytest.mark.parametrize(
    "code", ["template <typename T> T f(T x) { return x / ; (", "(((", "", "'", '"', "/*", "} ) ]"]
)
def test_broken_text_is_left_to_the_compiler(code):
    rewrite(code, integer=True)
    rewrite("int " + code, integer=False)
