"""jiterator: functions, names, layouts and promotions that the other modules leave out."""

# ruff: noqa: E501, UP031 (kernels are one line each; their braces suit no f-string)

from __future__ import annotations

import math

import torch

from .harness import JM, D, E, F, J, L, T, V, case, refused

ADD = "template <typename T> T add(T a, T b) { return a + b; }"


def one(expression, x, dt="float32", **kwargs):
    return V(J("template <typename T> T f(T x) { return %s; }" % expression, **kwargs)(T(x, dt)))


def taken(expressions, dt="float32"):
    """Which of the expressions compile for a kernel of this dtype?"""
    x = T([1, 2], dt)
    return {e: refused(J("template <typename T> T f(T x) { return %s; }" % e), x)["exc"] for e in expressions}


X = [0.1, 0.5, 0.9, 1.5, 3.0]
FUNCTIONS = {
    "exponentials": ("exp2(x)", "expm1(x)", "log1p(x)", "log2(x)", "log10(x)", "logb(x)", "T(ilogb(x))"),
    "bessel": ("j0(x)", "j1(x)", "jn(2, x)", "y0(x)", "y1(x)", "yn(2, x)", "cyl_bessel_i0(x)", "cyl_bessel_i1(x)"),
    "errors": ("erfinv(x / T(4))", "erfcinv(x / T(2))", "erfcx(x)", "normcdf(-x)", "normcdfinv(x / T(4))"),
    "in_half_turns": ("sinpi(x)", "cospi(x)", "sinpi(x * T(1000))", "cospi(-x)"),
    "powers": ("pow(x, T(2.5))", "pow(x, 3)", "pow(-x, 3)", "sqrt(x)", "rsqrt(x)", "cbrt(-x)", "rcbrt(x)"),
    "several_arguments": ("atan2(x, -x)", "hypot(x, T(2))", "fmod(x, T(0.3))", "remainder(x, T(0.4))", "fdim(x, T(1))", "nextafter(x, T(9))", "copysign(x, T(-1))", "fma(x, x, x)"),
    "gamma": ("tgamma(x)", "lgamma(x)", "tgamma(-x)", "lgamma(-x)"),
}  # fmt: skip

for _name, _expressions in FUNCTIONS.items():
    for _dt in ("float32", "float64"):
        case(f"jit-more/{_name}_{_dt}")(
            lambda e=_expressions, dt=_dt: [one(expression, X, dt) for expression in e]
        )

SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38]


@case("jit-more/special_values_of_functions")
def special_values_of_functions():
    functions = "exp log sin cos tanh erf sqrt cbrt expm1 log1p atan asinh rsqrt floor round".split()  # noqa: SIM905
    return {f: one(f"{f}(x)", SPECIAL) for f in functions}


@case("jit-more/fmax_and_fmin_of_special_values")
def fmax_and_fmin_of_special_values():
    f = JM(
        "template <typename T> void f(T a, T b, T& x, T& y, T& z) { x = fmax(a, b); y = ::min(a, b); z = fdim(a, b); }",
        3,
    )
    a, b = T([math.nan, 1.0, 0.0, -0.0, math.inf]), T([1.0, math.nan, -0.0, 0.0, math.inf])
    return [V(o) for o in f(a, b)]


@case("jit-more/saturate_and_fast_division")
def saturate_and_fast_division():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b) { a = __saturatef(x); b = __fdividef(T(1), x); }", 2
    )
    return [V(o) for o in f(T([-1.0, 0.5, 2.0, math.nan, math.inf]))]


@case("jit-more/directed_rounding")
def directed_rounding():
    f = JM(
        "template <typename T> void f(T x, T y, T& a, T& b, T& c, T& d) { a = __fadd_ru(x, y); b = __fmul_rd(x, y); c = __fdiv_rz(x, y); d = __fsqrt_ru(x); }",
        4,
    )
    return [V(o) for o in f(T([0.1, 1.0, 3.7]), T([0.7, 3.0, 1.3]))]


@case("jit-more/bits")
def bits():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e, T& g) { a = __popcll(x); b = __clzll(x); c = __ffsll(x); d = __mulhi((int)x, 1000003); e = __byte_perm((int)x, 0x12345678, 0x3715); g = __funnelshift_l((int)x, 7, 5); }",
        6,
    )
    return [V(o) for o in f(T([0, 1, -1, 12345678901, 2**62], "int64"))]


@case("jit-more/accepted_for_float")
def accepted_for_float():
    return taken(("max(x, 0)", "max(x, 0.0)", "fmax(x, 0)", "pow(x, 2)", "pow(x, 2.0)", "atan2(x, 1)", "hypot(x, 1.0)", "T(sin(0))", "x % T(2)",
                  "std::max(x, x)", "std::rsqrt(x)", "std::erfinv(x)", "std::round(x)", "std::fma(x, x, x)", "T(M_PI)", "T(uint16_t(3))", "T(int32_t(3))",
                  "T(std::complex<float>(1, 2).real())", "(throw 1, x)", "T(NEG_INFINITY)", "T(warpSize)", "T(num_threads)", "std::lerp(x, x, x)", "T(nullptr == 0)"))  # fmt: skip


@case("jit-more/accepted_for_int")
def accepted_for_int():
    return taken(
        (
            "sin(x)",
            "sinf(x)",
            "abs(x)",
            "fabs(x)",
            "max(x, 0)",
            "max(x, 0u)",
            "pow(x, 2)",
            "pow(x, 2.0)",
            "x << 2",
            "isnan(x)",
            "floorf(x)",
        ),
        "int32",
    )


@case("jit-more/accepted_for_complex")
def accepted_for_complex():
    return taken(("::sin(x)", "sin(x)", "std::sin(x)", "abs(x)", "x > 0 ? x : 0", "T(x > 0)", "x * 2", "x * T(2)", "x * 2.0f", "std::norm(x)", "x.imag()", "T(1, 2) * x",
                  "std::pow(x, 2)", "std::pow(x, T(2))", "std::conj(x)", "std::arg(x)", "std::polar(1.0f, 2.0f)", "isnan(x) ? x : x", "std::acosh(x)"), "complex64")  # fmt: skip


@case("jit-more/statements")
def statements():
    bodies = {
        "lambda": "auto g = [&](T y) { return y * y; }; return g(x);",
        "if constexpr": "if constexpr (sizeof(T) == 4) return x; else return T(0);",
        "static": "static int calls = 0; calls = 1; return x;",
        "goto": "goto out; out: return x;",
        "struct": "struct P { T a, b; }; P p{x, x}; return p.a + p.b;",
        "narrowing": "T v[1] = {x * 2.0}; return v[0];",
        "while": "int i = 0; while (i < 3) { x = x + T(1); i++; } return x;",
        "do": "int i = 0; do { x = x + T(1); } while (++i < 3); return x;",
        "comma": "return x, x + T(1);",
        "range for": "T s = T(0); T v[2] = {x, x}; for (T y : v) s += y; return s;",
        "try": "try { return x; } catch (...) { return x; }",
    }
    return {
        k: refused(J("template <typename T> T f(T x) { %s }" % b), F(2))["exc"] for k, b in bodies.items()
    }


NAMES = "main numel data l s N idx vec_size scalar_t Array num_threads load abs exp out0 input0 x v".split()  # noqa: SIM905


@case("jit-more/names_of_vectorised_kernels")
def names_of_vectorised_kernels():
    return {n: refused(J(f"template <typename T> T {n}(T a) {{ return a; }}"), F(8))["exc"] for n in NAMES}


@case("jit-more/names_of_strided_kernels")
def names_of_strided_kernels():
    return {
        n: refused(J(f"template <typename T> T {n}(T a) {{ return a; }}"), F(16)[::2])["exc"] for n in NAMES
    }


def runs(t):
    """Stretches of equal values: [value, length] for the first six."""
    out = []
    for v in t.tolist():
        if out and out[-1][0] == v:
            out[-1][1] += 1
        else:
            out.append([v, 1])
    return [len(out), *out[:6]]


@case("jit-more/threads_of_a_vectorised_kernel")
def threads_of_a_vectorised_kernel():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c) { a = threadIdx.x; b = blockIdx.x; c = gridDim.x; }",
        3,
    )
    return [
        [runs(o) for o in f(torch.zeros(5000, dtype=dt, device=D))]
        for dt in (torch.float32, torch.float64, torch.uint8)
    ]


@case("jit-more/threads_of_a_strided_kernel")
def threads_of_a_strided_kernel():
    f = JM(
        "template <typename T> void f(T x, T& a, T& b, T& c) { a = threadIdx.x; b = blockIdx.x; c = gridDim.x; }",
        3,
    )
    return [runs(o) for o in f(torch.zeros(10000, device=D)[::2])]


@case("jit-more/layouts_of_results")
def layouts_of_results():
    f, x = J(ADD), F(24).view(2, 3, 4)
    cl = torch.zeros(2, 3, 4, 5, device=D).to(memory_format=torch.channels_last)
    pairs = [(x, x.transpose(0, 2).contiguous().transpose(0, 2)), (x.transpose(0, 1), x.transpose(0, 1)), (x.permute(2, 0, 1), F(3)), (x[:, ::2], x[:, ::2]),
             (F(4).expand(3, 4), F(3).view(3, 1)), (cl, cl), (cl, torch.zeros(3, 1, 1, device=D)), (x.unsqueeze(1), x.unsqueeze(1)), (F(0).view(0, 3), F(3)), (F(5).flip(0)[1:], F(4))]  # fmt: skip
    return [[list(r.shape), list(r.stride())] for r in (f(a, b) for a, b in pairs)]


@case("jit-more/promotion_table")
def promotion_table():
    dts = (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
    f = J(ADD)
    return [
        [str(f(T([1], a), T(1 if zero else [1], b)).dtype) for b in dts]
        for a in dts
        for zero in (False, True)
    ]


@case("jit-more/mixed_dtypes_strided")
def mixed_dtypes_strided():
    f = J(ADD)
    return [
        L(f(T([[1, 2], [3, 4]], "int16").t(), T([[0.5, 1.5], [2.5, 3.5]], "float16"))),
        L(f(T([1, 2, 3, 4], "uint8")[::2], T(2.5))),
        L(f(T([[True], [False]]), T([1j, 2]))),
    ]


@case("jit-more/conj_and_neg_views_with_a_cast")
def conj_and_neg_views_with_a_cast():
    f, z = J(ADD), T([1 + 2j, 3 - 4j])
    return [
        V(f(z.conj(), T([1.0, 1.0], "float64"))),
        V(f(z.conj().imag, T([0.0, 0.0], "float64"))),
        V(f(z.conj(), z)),
    ]


@case("jit-more/dtypes_without_kernels")
def dtypes_without_kernels():
    f = J("template <typename T> T f(T x) { return x; }")
    return [
        refused(f, torch.ones(2, device=D).to(getattr(torch, d)))["exc"]
        for d in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64")
    ]


@case("jit-more/shapes_that_do_not_fit")
def shapes_that_do_not_fit():
    return [E(J(ADD), torch.ones(2, 3, device=D), torch.ones(4, 3, device=D))]


@case("jit-more/nine_outputs")
def nine_outputs():
    f = JM("template <typename T> void f(T x, T& a, T& b, T& c, T& d, T& e, T& g, T& h, T& i, T& k) { }", 9)
    return [refused(f, F(2))["exc"], len(f(F(0)))]


@case("jit-more/keyword_out_of_range")
def keyword_out_of_range():
    f = J("template <typename T> T f(T x, T k) { return k; }", k=1)
    return [
        refused(f, F(2), k=2**63)["exc"],
        refused(f, F(2), k="a")["exc"],
        refused(f, F(2), k=None)["exc"],
        V(f(F(2), k=-(2**63))),
    ]


@case("jit-more/bad_code_on_an_empty_tensor")
def bad_code_on_an_empty_tensor():
    return L(J("template <typename T> T f(T x) { return nosuch; }")(F(0)))
