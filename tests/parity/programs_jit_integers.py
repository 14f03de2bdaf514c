"""jiterator: what C++ leaves open and a GPU does all the same, to integers and to conversions."""

# ruff: noqa: E501, UP031 (kernels are one line each; their braces suit no f-string)

from __future__ import annotations

import math

import torch

from .harness import JM, J, T, V, case

INTS = ("int8", "uint8", "int16", "int32", "int64")
FLOATS = [0.9, -0.9, 127.0, 128.0, 255.0, 300.0, -129.0, -200.0, 32768.0, 65536.0, 70000.0, -70000.0, 2147483648.0, 3e9, 5e9, -3e9,
          9.2e18, 9.3e18, 2e19, -9.3e18, 1e30, -1e30, math.inf, -math.inf, math.nan]  # fmt: skip
BYTES = "unsigned long long v = (unsigned long long)(long long)(%s)x; a = v & 255; b = (v >> 8) & 255; c = (v >> 24) & 255; d = (v >> 32) & 255; e = (v >> 56) & 255;"


def ends(dt):
    info = torch.iinfo(getattr(torch, dt))
    return T([0, 1, 7, info.max, info.min, info.min + 1], dt)


def both(code, dts=INTS, *, right=0):
    """`code` with two inputs: the ends of each dtype, and a tensor of `right`."""
    f = J("template <typename T> T f(T a, T b) { return %s; }" % code)
    out = []
    for dt in dts:
        a = ends(dt)
        out.append(V(f(a, torch.full_like(a, right))))
    return out


@case("jit-integers/divided_by_zero")
def divided_by_zero():
    return both("a / b")


@case("jit-integers/remainder_by_zero")
def remainder_by_zero():
    return both("a % b")


@case("jit-integers/quotient_and_remainder_by_zero")
def quotient_and_remainder_by_zero():
    f = JM("template <typename T> void f(T a, T b, T& q, T& r) { q = a / b; r = a % b; }", 2)
    return [[V(o) for o in f(ends(d), torch.zeros_like(ends(d)))] for d in INTS]


@case("jit-integers/least_by_minus_one")
def least_by_minus_one():
    signed = ("int8", "int16", "int32", "int64")
    return [both("a / b", signed, right=-1), both("a % b", signed, right=-1)]


@case("jit-integers/zero_divisor_from_a_keyword")
def zero_divisor_from_a_keyword():
    f = J("template <typename T> T f(T a, int64_t n) { return a / n; }", n=0)
    g = J("template <typename T> T f(T a, int n) { return a % n; }", n=0)
    return [[V(f(ends(d))), V(g(ends(d)))] for d in INTS]


@case("jit-integers/unsigned_division_by_zero")
def unsigned_division_by_zero():
    f = J("template <typename T> T f(T a, T b) { return (unsigned)a / (unsigned)b; }")
    g = J("template <typename T> T f(T a, T b) { return (uint64_t)a % (uint64_t)b; }")
    return [
        [V(f(ends(d), torch.zeros_like(ends(d)))), V(g(ends(d), torch.zeros_like(ends(d))))] for d in INTS
    ]


@case("jit-integers/compound_division_by_zero")
def compound_division_by_zero():
    f = JM("template <typename T> void f(T a, T b, T& q, T& r) { q = a; q /= b; r = a; r %= b; }", 2)
    return [[V(o) for o in f(ends(d), torch.zeros_like(ends(d)))] for d in INTS]


@case("jit-integers/division_guarded_by_a_condition")
def division_guarded_by_a_condition():
    return both("b ? a / b : T(9)", right=0) + both("b != T(0) && a / b > T(1) ? a : T(3)", right=0)


@case("jit-integers/bool_division")
def bool_division():
    f = JM("template <typename T> void f(T a, T b, T& q, T& r) { q = a / b; r = a % b; }", 2)
    return [V(o) for o in f(T([True, False, True]), T([False, False, True]))]


COUNTS = [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127]


@case("jit-integers/shifts_by_too_much")
def shifts_by_too_much():
    f = JM("template <typename T> void f(T a, T n, T& l, T& r) { l = a << n; r = a >> n; }", 2)
    return [
        [V(o) for o in f(torch.full_like(T(COUNTS, d), v), T(COUNTS, d))] for d in INTS for v in (1, 77, 125)
    ]


@case("jit-integers/negative_numbers_shifted")
def negative_numbers_shifted():
    f = JM("template <typename T> void f(T a, T n, T& l, T& r) { l = a << n; r = a >> n; }", 2)
    return [
        [V(o) for o in f(torch.full_like(T(COUNTS, d), -3), T(COUNTS, d))]
        for d in ("int8", "int16", "int32", "int64")
    ]


@case("jit-integers/negative_shift_counts")
def negative_shift_counts():
    f = JM("template <typename T> void f(T a, T n, T& l, T& r) { l = a << n; r = a >> n; }", 2)
    return [
        [V(o) for o in f(T([77, -77, 1], d), T([-1, -1, -5], d))] for d in ("int8", "int16", "int32", "int64")
    ]


@case("jit-integers/unsigned_shifts_by_too_much")
def unsigned_shifts_by_too_much():
    f = JM(
        "template <typename T> void f(T a, T n, T& l, T& r) { l = (unsigned)a << n; r = (unsigned)a >> n; }",
        2,
    )
    return [[V(o) for o in f(torch.full_like(T(COUNTS, d), 77), T(COUNTS, d))] for d in INTS]


@case("jit-integers/compound_shifts")
def compound_shifts():
    f = JM("template <typename T> void f(T a, T n, T& l, T& r) { l = a; l <<= n; r = a; r >>= n; }", 2)
    return [[V(o) for o in f(torch.full_like(T(COUNTS, d), 77), T(COUNTS, d))] for d in INTS]


@case("jit-integers/counts_beyond_32_bits")
def counts_beyond_32_bits():
    f = JM("template <typename T> void f(T a, T n, T& l, T& r) { l = a << n; r = a >> n; }", 2)
    n = T([2**32, 2**32 + 1, 2**40 + 3, -(2**32)])
    return [V(o) for o in f(torch.full_like(n, 77), n)]


def casts(type_, dt):
    f = JM("template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e) { %s }" % (BYTES % type_), 5)
    return [o.tolist() for o in f(T(FLOATS, dt))]


for _type in ("int8_t", "uint8_t", "short", "uint16_t", "int", "unsigned", "long long", "uint64_t"):
    for _dt in ("float32", "float64"):
        case(f"jit-integers/{_dt}_cast_to_{_type.replace(' ', '_')}")(
            lambda _type=_type, _dt=_dt: casts(_type, _dt)
        )


@case("jit-integers/half_types_cast")
def half_types_cast():
    x = [0.9, -0.9, 300.0, -300.0, 65504.0, math.inf, -math.inf, math.nan]
    return [casts_of(t, dt, x) for dt in ("float16", "bfloat16") for t in ("int8_t", "int", "long long")]


def casts_of(type_, dt, values):
    f = J("template <typename T> T f(T x) { return (%s)x; }" % type_)
    return V(f(T(values, dt)))


@case("jit-integers/returned_as_an_integer")
def returned_as_an_integer():
    x = [2.7, -2.7, 3e9, -3e9, 1e30, math.inf, -math.inf, math.nan]
    return [
        V(J("template <typename T> %s f(T x) { return x; }" % t)(T(x)))
        for t in ("int", "int8_t", "uint32_t", "int64_t", "bool")
    ]


@case("jit-integers/float_result_stored_as_integers")
def float_result_stored_as_integers():
    f = J("template <typename T> T f(T x) { return x * 1e6; }")
    g = J("template <typename T> double f(T x) { return x * 1e19; }")
    return [[V(f(ends(d))), V(g(ends(d)))] for d in INTS]


@case("jit-integers/declared_from_a_float")
def declared_from_a_float():
    f = J("template <typename T> T f(T x) { int n = x; int8_t m = x; n = n / 2; return T(n) + T(m); }")
    return V(f(T([3e9, -3e9, 300.0, math.nan, math.inf])))


@case("jit-integers/keyword_truncated")
def keyword_truncated():
    f = J("template <typename T> T f(T x, T k) { return k; }", k=0.0)
    return [
        [V(f(T([1], d), k=k)) for k in (2.9, -2.9, 300.0, -1.0, 3e9, 1e30, math.inf, math.nan)] for d in INTS
    ]


@case("jit-integers/unsigned_char_quotient_as_float")
def unsigned_char_quotient_as_float():
    f = J("template <typename T, typename U> float f(T a, U b) { return (float)(a / b); }")
    return [V(f(ends(d), torch.zeros_like(ends(d)))) for d in INTS]


@case("jit-integers/overflow_wraps")
def overflow_wraps():
    f = JM("template <typename T> void f(T a, T& s, T& p, T& n) { s = a + a; p = a * a; n = -a; }", 3)
    return [[V(o) for o in f(ends(d))] for d in INTS]


@case("jit-integers/abs_of_the_least")
def abs_of_the_least():
    f = J("template <typename T> T f(T a) { return abs(a); }")
    return [V(f(ends(d))) for d in ("int8", "int16", "int32", "int64")]


@case("jit-integers/min_and_max")
def min_and_max():
    f = JM("template <typename T> void f(T a, T b, T& x, T& y) { x = ::max(a, b); y = min(a, b); }", 2)
    return [[V(o) for o in f(ends(d), torch.full_like(ends(d), 3))] for d in INTS]


@case("jit-integers/rounding_to_integers")
def rounding_to_integers():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c, T& d) { a = lrint(x); b = llround(x); c = __float2int_rd(x); d = __float2uint_rz(x); }",
        4,
    )
    return [V(o) for o in f(T([2.5, -2.5, 0.5, 3e9, -3e9, math.nan, math.inf]))]


CASTS = (
    "int",
    "int64_t",
    "unsigned int",
    "short",
    "signed char",
    "unsigned char",
    "unsigned long long",
    "unsigned short",
    "char",
    "bool",
)
HUGE = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.9, -1.9, 3e9, -3e9, 1e19, -1e19, 1e30, 300.7, -300.7, 70000.0, -70000.0,
        2147483648.0, 4294967296.0, 255.5, 128.0, -129.0, 2.0**63, -(2.0**63)]  # fmt: skip


@case("jit-integers/a_cast_within_a_cast")
def a_cast_within_a_cast():
    kernels = [J("template <typename T> double f(T a) { return (double)(%s)a; }" % cast) for cast in CASTS]
    return [
        [f(T(HUGE, dt)).double().tolist() for f in kernels]
        for dt in ("float32", "float64", "float16", "bfloat16")
    ]
