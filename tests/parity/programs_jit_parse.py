"""jiterator: what the parser takes and which function it calls."""

# ruff: noqa: E501 (kernels are one line each)

from __future__ import annotations

import torch

from .harness import E, F, J, T, V, case, refused


@case("jit-parse/white_space_everywhere")
def white_space_everywhere():
    f = J("\n\t  \n template\n<typename T>\nT\nplus_half\n(T x)\n{\n  return x + T(0.5);\n}\n\n  ")
    return [f.kernel_name, V(f(F(3)))]


@case("jit-parse/second_template_parameter_deduced")
def second_template_parameter_deduced():
    return J("template <typename T, typename U> T mul2(T x, U y) { return x * y; }")(F(3, 1), F(3, 2))


@case("jit-parse/auto_return")
def auto_return():
    return J("template <typename T> auto inc(T x) { return x + T(1); }")(F(3))


@case("jit-parse/int_return_truncates")
def int_return_truncates():
    return J("template <typename T> int cut(T x) { return x; }")(T([2.7, -2.7, 0.99, -0.0]))


@case("jit-parse/void_return_by_value")
def void_return_by_value():
    return refused(J("template <typename T> void nothing(T x) { }"), F(2))


@case("jit-parse/noexcept_slips_through_when_the_body_has_an_if")
def noexcept_slips_through_when_the_body_has_an_if():
    f = J("template <typename T> T magnitude(T x) noexcept { if (x < T(0)) { return -x; } return x; }")
    return [f.kernel_name, V(f(T([-2.0, 0.5, 3.0])))]


@case("jit-parse/const_return")
def const_return():
    return E(J, "template <typename T> const T f(T x) { return x; }")


@case("jit-parse/brace_in_a_comment")
def brace_in_a_comment():
    return J("template <typename T> T f(T x) { /* } { */ return x * T(3); // } done\n } // }")(F(3))


@case("jit-parse/non_ascii_comment")
def non_ascii_comment():
    return J("template <typename T> T f(T x) { // Größe × 2 ≈ 値\n return x * T(2); }")(F(3))


@case("jit-parse/trailing_template_becomes_the_entry")
def trailing_template_becomes_the_entry():
    f = J(
        "template <typename T> T first(T x) { return x + T(1); } template <typename T> T second(T x) { return first(x) * T(10); }"
    )
    return [f.kernel_name, V(f(F(3)))]


@case("jit-parse/default_argument_alone")
def default_argument_alone():
    return J("template <typename T> T scale(T x, T k = T(4)) { return x * k; }")(F(3))


@case("jit-parse/default_argument_overruled_by_a_keyword")
def default_argument_overruled_by_a_keyword():
    return J("template <typename T> T scale(T x, T k = T(4)) { return x * k; }", k=5)(F(3))


@case("jit-parse/kernel_names")
def kernel_names():
    return [
        E(lambda c=c: J(c).kernel_name)
        for c in (
            "template<typename T>T f(T x){return x;}",
            "template <typename T> T f1 (T x) {return x;} int g(int y) {return y;}",
            "template <typename T> T _under_9(T x, T y) { if (x > y) { return x; } else { return y; } }",
            "template <typename T> T f(T x) { return x; }; ;",
            "template <typename T> T f(T x) { return g([](T y) { return y; }, x); }",
        )
    ]


@case("jit-parse/refused_objects")
def refused_objects():
    return [
        E(J, c)
        for c in (
            b"template <typename T> T f(T x) { return x; }",
            None,
            3,
            ["template <typename T> T f(T x) { return x; }"],
        )
    ]


@case("jit-parse/refused_missing_argument")
def refused_missing_argument():
    return [
        E(torch.cuda.jiterator._create_jit_fn),
        E(torch.cuda.jiterator._create_multi_output_jit_fn, "template <typename T> T f(T x) { return x; }"),
    ]
