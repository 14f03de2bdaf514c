"""jiterator: values."""

# ruff: noqa: E501 (kernels are one line each)

from __future__ import annotations

import math

import torch

from .harness import JM, D, J, T, V, case

ADD = "template <typename T> T add(T a, T b) { return a + b; }"


@case("jit-values/int64_large")
def int64_large():
    f = JM("template <typename T> void f(T a, T b, T& s, T& m) { s = a + b; m = a % b; }", 2)
    return [V(o) for o in f(T([2**62, -(2**63) + 1, 2**53 + 1]), T([2**61 + 3, 10, 2]))]


@case("jit-values/division_and_modulo_of_negatives")
def division_and_modulo_of_negatives():
    f = JM("template <typename T> void f(T a, T b, T& q, T& r) { q = a / b; r = a % b; }", 2)
    return [
        [V(o) for o in f(T([7, -7, 7, -7, 1, -1], d), T([2, 2, -2, -2, -3, 3], d))]
        for d in ("int8", "int32", "int64")
    ]


@case("jit-values/integer_division_by_zero_does_not_trap")
def integer_division_by_zero_does_not_trap():
    f = J("template <typename T> T f(T a, T b) { return b == T(0) ? T(-1) : a / b; }")
    return V(f(T([6, 7, 0], "int32"), T([2, 0, 0], "int32")))


@case("jit-values/shifts_and_bits")
def shifts_and_bits():
    f = JM(
        "template <typename T> void f(T a, T b, T& l, T& r, T& x, T& n) { l = a << b; r = a >> b; x = a ^ b; n = ~a; }",
        4,
    )
    return [[V(o) for o in f(T([5, 100, 64], d), T([1, 2, 3], d))] for d in ("uint8", "int16", "int64")] + [
        V(o) for o in f(T([-5, -128], "int8"), T([1, 2], "int8"))
    ]


@case("jit-values/bool_arithmetic")
def bool_arithmetic():
    f = JM(
        "template <typename T> void f(T a, T b, T& s, T& d, T& p, T& x, T& n, T& t) { s = a + b; d = a - b; p = a * b; x = a ^ b; n = !a; t = T(2) ; }",
        6,
    )
    return [V(o) for o in f(T([True, True, False, False]), T([True, False, True, False]))]


@case("jit-values/float_literal_in_an_integer_kernel")
def float_literal_in_an_integer_kernel():
    return [
        V(J("template <typename T> T f(T x) { return x * 0.5; }")(T([-3, 3, 5, -5], "int64"))),
        V(J("template <typename T> T f(T x) { return x / 2.0 + 0.75; }")(T([1, 2, 3], "int32"))),
    ]


@case("jit-values/half_rounding")
def half_rounding():
    f = J(ADD)
    return [
        V(
            f(
                T([2048.0, 2048.0, 1.0, 60000.0, -60000.0], "float16"),
                T([1.0, 3.0, 2**-11, 60000.0, -60000.0], "float16"),
            )
        ),
        V(f(T([256.0, 256.0, 1.0, 3e38], "bfloat16"), T([1.0, 3.0, 2**-8, 3e38], "bfloat16"))),
    ]


@case("jit-values/half_is_rounded_only_at_the_end")
def half_is_rounded_only_at_the_end():
    f = J("template <typename T> T f(T x) { T big = x * x; return big / x; }")
    return [V(f(T([300.0, 1000.0, 65504.0], "float16"))), V(f(T([1e25, 3e30], "bfloat16")))]


@case("jit-values/half_special_values")
def half_special_values():
    f = J("template <typename T> T f(T a, T b) { return a > b ? a : b; }")
    a, b = [math.nan, 1.0, math.inf, -0.0, -math.inf], [1.0, math.nan, 65504.0, 0.0, math.nan]
    return [V(f(T(a, d), T(b, d))) for d in ("float16", "bfloat16")]


@case("jit-values/nan_in_comparisons")
def nan_in_comparisons():
    f = JM(
        "template <typename T> void f(T a, T b, T& lt, T& le, T& eq, T& ne, T& gt, T& nota) { lt = a < b; le = a <= b; eq = a == b; ne = a != b; gt = a > b; nota = !(a < b); }",
        6,
    )
    return [
        V(o)
        for o in f(T([math.nan, 1.0, math.nan, -0.0, math.inf]), T([1.0, math.nan, math.nan, 0.0, math.inf]))
    ]


@case("jit-values/zeros_keep_their_sign")
def zeros_keep_their_sign():
    f = JM(
        "template <typename T> void f(T x, T& neg, T& inv, T& fl, T& tr, T& rn, T& sq, T& sb) { neg = -x; inv = T(1) / x; fl = floor(x); tr = trunc(x); rn = rint(x); sq = sqrt(x); sb = signbit(x); }",
        7,
    )
    return [V(o) for o in f(T([0.0, -0.0, -0.4, 0.4]))]


@case("jit-values/float_denormals_are_kept")
def float_denormals_are_kept():
    f = J("template <typename T> T f(T x) { return x + x; }")
    r = f(T([1e-40, -3e-42, 1.5e-45]))
    return [(r != 0).tolist(), (r * 1e30).tolist()]


@case("jit-values/rounding_functions")
def rounding_functions():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e, T& g) { a = floor(x); b = ceil(x); c = trunc(x); d = round(x); e = rint(x); g = nearbyint(x); }",
        6,
    )
    return [V(o) for o in f(T([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4, -2.6]))]


@case("jit-values/trigonometry")
def trigonometry():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e, T& g, T& h, T& i) { a = sin(x); b = cos(x); c = tan(x); d = asin(x); e = acos(x); g = atan(x); h = sinh(x); i = cosh(x); }",
        8,
    )
    return [V(o) for o in f(T([0.1, 0.5, 0.9, -0.3]))]


@case("jit-values/special_functions")
def special_functions():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e, T& g, T& h, T& i) { a = cbrt(x); b = erf(x); c = erfc(x); d = lgamma(x + T(3)); e = tgamma(x + T(1)); g = asinh(x); h = acosh(x + T(1)); i = atanh(x); }",
        8,
    )
    return [V(o) for o in f(T([0.1, 0.5, 0.9], "float64"))]


@case("jit-values/cuda_only_functions")
def cuda_only_functions():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e, T& g, T& h, T& i) { a = rsqrt(x); b = rcbrt(x); c = exp10(x); d = sinpi(x); e = cospi(x); g = erfinv(x); h = normcdf(x); i = erfcx(x); }",
        8,
    )
    return [V(o) for o in f(T([0.1, 0.375, 0.9], "float64"))]


@case("jit-values/more_cuda_functions")
def more_cuda_functions():
    f = JM(
        "template <typename T> void f(T x, T y, T z, T& a, T& b, T& c, T& d, T& e) { a = rhypot(x, y); b = norm3d(x, y, z); c = fma(x, y, z); d = ldexp(x, 3); e = scalbn(x, -2); }",
        5,
    )
    return [V(o) for o in f(T([3.0, 1.0], "float64"), T([4.0, 2.0], "float64"), T([12.0, 2.0], "float64"))]


@case("jit-values/exact_intrinsics")
def exact_intrinsics():
    f = JM(
        "template <typename T> void f(T x, T y, T& a, T& b, T& c, T& d, T& e, T& g, T& h) { a = __fadd_rn(x, y); b = __fmul_rn(x, y); c = __fsqrt_rn(x); d = __saturatef(x - y); e = __float2int_rn(x); g = __fmaf_rn(x, y, x); h = __fdiv_rn(x, y); }",
        7,
    )
    return [V(o) for o in f(T([2.5, 3.5, 0.1]), T([0.3, 2.75, 0.7]))]


@case("jit-values/bit_intrinsics")
def bit_intrinsics():
    f = JM(
        "template <typename T> void f(T x, T& p, T& z, T& b, T& s) { int v = (int)x; p = __popc(v); z = __clz(v); b = (__brev(v) != 0); s = __ffs(v); }",
        4,
    )
    return [V(o) for o in f(T([1, 255, 0, -1, 4096], "int32"))]


@case("jit-values/complex_arithmetic")
def complex_arithmetic():
    f = JM(
        "template <typename T> void f(T a, T b, T& s, T& p, T& q, T& n) { s = a + b; p = a * b; q = a / b; n = -a; }",
        4,
    )
    return [V(o) for o in f(T([1 + 2j, -0.5j, 3 + 0j]), T([2 - 1j, 1 + 1j, 4j]))]


@case("jit-values/complex_functions")
def complex_functions():
    f = JM(
        "template <typename T> void f(T z, T& e, T& l, T& s, T& si, T& co, T& th) { e = std::exp(z); l = std::log(z); s = std::sqrt(z); si = std::sin(z); co = std::cos(z); th = std::tanh(z); }",
        6,
    )
    return [V(o) for o in f(T([1 + 2j, -0.5 + 0.25j, 0.3 - 0.7j], "complex128"))]


@case("jit-values/complex_equality")
def complex_equality():
    f = J("template <typename T> T f(T a, T b) { return a == b ? T(1) : T(0); }")
    return V(f(T([1 + 2j, 1 + 2j, 0j]), T([1 + 2j, 1 - 2j, complex(-0.0, 0.0)])))


@case("jit-values/large_half")
def large_half():
    x = (torch.arange(1 << 22, device=D) % 2048).to(torch.float16)
    r = J("template <typename T> T f(T x) { return x - T(1024); }")(x)
    return [torch.equal(r, x - 1024), str(r.dtype)]
