"""jiterator: what may stand in a body."""

# ruff: noqa: E501 (kernels are one line each)

from __future__ import annotations

from .harness import F, J, T, V, case, refused


@case("jit-body/newton_loop")
def newton_loop():
    return J(
        "template <typename T> T root(T x) { T r = x; for (int i = 0; i < 30; ++i) { T n = T(0.5) * (r + x / r); if (n == r) break; r = n; } return r; }"
    )(T([4.0, 9.0, 2.0, 1e6], "float64"))


@case("jit-body/recursion")
def recursion():
    return [
        V(
            J("template <typename T> T fact(T n) { return n <= T(1) ? T(1) : n * fact(n - T(1)); }")(
                T([0, 1, 5, 20])
            )
        ),
        V(
            J("template <typename T> T gcd_(T a, T b) { return b == T(0) ? a : gcd_<T>(b, a % b); }")(
                T([12, 35, 7]), T([18, 14, 0])
            )
        ),
    ]


@case("jit-body/switch")
def switch_():
    return J(
        "template <typename T> T f(T x) { switch ((int)x) { case 0: return T(10); case 1: case 2: return T(20); default: return T(-1); } }"
    )(F(5))


@case("jit-body/local_array_sorted")
def local_array_sorted():
    return J(
        "template <typename T> T median5(T a, T b, T c, T d, T e) { T v[5] = {a, b, c, d, e}; for (int i = 0; i < 5; ++i) for (int j = 0; j < 4 - i; ++j) if (v[j] > v[j + 1]) { T t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; } return v[2]; }"
    )(T([5.0, 1.0]), T([3.0, 1.0]), T([9.0, 2.0]), T([-1.0, 7.0]), T([4.0, 1.0]))


@case("jit-body/reference_helper")
def reference_helper():
    return J(
        "template <typename T> void swap_(T& a, T& b) { T t = a; a = b; b = t; } template <typename T> T f(T a, T b) { swap_(a, b); return a - b; }"
    )(F(3), F(3, 10))


@case("jit-body/pointer_helper")
def pointer_helper():
    return J(
        "template <typename T> T sum_(const T* p, int n) { T s = T(0); for (int i = 0; i < n; ++i) s += p[i]; return s; } template <typename T> T f(T a, T b, T c) { T v[3] = {a, b, c}; return sum_(v, 3); }"
    )(F(2), F(2, 1), F(2, 2))


@case("jit-body/digits_and_suffixes")
def digits_and_suffixes():
    return J("template <typename T> T f(T x) { return x * 1'000.0f + 0x10 + 0b11 + 1e2f; }")(F(2))


@case("jit-body/block_size_is_visible")
def block_size_is_visible():
    return J("template <typename T> T f(T x) { return x + blockDim.x + 1000 * gridDim.x; }")(F(3))


@case("jit-body/assert_is_compiled_out")
def assert_is_compiled_out():
    return J("template <typename T> T f(T x) { assert(x < T(0)); return x; }")(F(3))


@case("jit-body/printf_compiles")
def printf_compiles():
    return J('template <typename T> T f(T x) { if (x < T(-1)) printf("%f\\n", (double)x); return x; }')(F(3))


@case("jit-body/complex_made_inside_a_float_kernel_does_not_compile")
def complex_made_inside_a_float_kernel_does_not_compile():
    return refused(J("template <typename T> T f(T x) { std::complex<T> z(x, x); return z.real(); }"), F(2))


@case("jit-body/an_error_does_not_stick")
def an_error_does_not_stick():
    f = J("template <typename T> T f(T x) { return nosuch(x); }")
    return [
        refused(f, F(2)),
        refused(f, F(2)),
        V(J("template <typename T> T f(T x) { return x + T(2); }")(F(2))),
    ]


@case("jit-body/same_name_other_code")
def same_name_other_code():
    f, g = (
        J("template <typename T> T k(T x) { return x + T(1); }"),
        J("template <typename T> T k(T x) { return x + T(2); }"),
    )
    return [V(f(F(2))), V(g(F(2))), V(f(F(2)))]
