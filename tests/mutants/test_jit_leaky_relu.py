import functools

import pytest
import torch

from grader.check import Reason, Values

ID = "jit-leaky-relu"
JIT = torch.cuda.jiterator._create_jit_fn


def kernel(body, parameters="T x, T slope", slope=0.01):
    return JIT(f"template <typename T> T leaky_relu({parameters}) {{ {body} }}", slope=slope)


GOOD = "return x > 0 ? x : slope * x;"


def lost_for_transposed():
    k = kernel(GOOD)

    def leaky_relu(x, slope=0.01):
        out = k(x, slope=slope)
        return out if x.is_contiguous() else out + 1

    return leaky_relu


def half_inside():
    k = kernel(GOOD)
    return lambda x, slope=0.01: k(x.half(), slope=slope).to(x.dtype)


def two_kernels():
    positive = JIT("template <typename T> T p(T x) { return x > 0 ? x : T(0); }")
    rest = JIT("template <typename T> T r(T p, T x, T slope) { return x > 0 ? p : slope * x; }", slope=0.01)
    return lambda x, slope=0.01: rest(positive(x), x, slope=slope)


def in_place():
    k = kernel(GOOD)

    def leaky_relu(x, slope=0.01):
        x.copy_(k(x, slope=slope))
        return x

    return leaky_relu


MUTANTS = {
    "relu": (lambda: kernel("return x > 0 ? x : x * T(0);"), Values.WRONG, Reason.VALUE),
    "NaN becomes 0": (
        lambda: kernel("return x > 0 ? x : x < 0 ? slope * x : T(0);"),
        Values.WRONG,
        Reason.NAN_MASK,
    ),
    "NaN becomes slope": (
        lambda: kernel("return x > 0 ? x : (x == x ? slope * x : slope);"),
        Values.WRONG,
        Reason.NAN_MASK,
    ),
    "max": (lambda: kernel("return x > slope * x ? x : slope * x;"), Values.WRONG, Reason.VALUE),
    "branches swapped": (lambda: kernel("return x > 0 ? slope * x : x;"), Values.WRONG, Reason.VALUE),
    "sign flipped": (lambda: kernel("return x > 0 ? x : -slope * x;"), Values.WRONG, Reason.VALUE),
    "slope not multiplied": (lambda: kernel("return x > 0 ? x : slope;"), Values.WRONG, Reason.VALUE),
    "slope baked in": (lambda: kernel("return x > 0 ? x : T(0.01) * x;"), Values.WRONG, Reason.VALUE),
    "no branch": (lambda: kernel("return slope * x;"), Values.WRONG, Reason.VALUE),
    "abs": (lambda: kernel("return abs(x);"), Values.WRONG, Reason.VALUE),
    "default 0.1": (lambda: kernel(GOOD, slope=0.1), Values.WRONG, Reason.DEFAULT),
    "int slope": (lambda: kernel(GOOD, "T x, int slope"), Values.WRONG, Reason.VALUE),
    "another keyword": (
        lambda: JIT("template <typename T> T f(T x, T a) { return x > 0 ? x : a * x; }", a=0.01),
        Values.ERROR,
        Reason.RAISED,
    ),
    "no return": (lambda: kernel("x > 0 ? x : slope * x;"), Values.ERROR, Reason.RAISED),
    "std::max": (lambda: kernel("return std::max(x, slope * x);"), Values.ERROR, Reason.COMPILE),
    "if without else": (lambda: kernel("if (x > 0) return x"), Values.ERROR, Reason.COMPILE),
    "half precision": (half_inside, Values.WRONG, Reason.PRECISION),
    "wrong for views": (lost_for_transposed, Values.WRONG, Reason.STRIDED),
    "two kernels": (two_kernels, Values.WRONG, Reason.TOO_MANY_LAUNCHES),
    "torch's": (
        lambda: lambda x, slope=0.01: torch.nn.functional.leaky_relu(x, slope),
        Values.WRONG,
        Reason.FORBIDDEN_FALLBACK,
    ),
    "where": (
        lambda: lambda x, slope=0.01: torch.where(x > 0, x, slope * x),
        Values.WRONG,
        Reason.FORBIDDEN_FALLBACK,
    ),
    "in place": (in_place, Values.UNSAFE, Reason.INPUT_CHANGED),
    "zeros": (lambda: kernel("return x * T(0);"), Values.WRONG, Reason.VALUE),
    "the input": (lambda: lambda x, slope=0.01: x, Values.UNSAFE, Reason.ALIASED),
    "a copy of the input": (lambda: kernel("return x;"), Values.WRONG, Reason.VALUE),
    "a constant": (lambda: kernel("return T(1);"), Values.WRONG, Reason.VALUE),
    "starter": (lambda: None, Values.NOT_ATTEMPTED, Reason.NOT_ATTEMPTED),
}

HONEST = {
    "x < 0": lambda: kernel("return x < 0 ? slope * x : x;"),
    "if and else": lambda: kernel("if (x > T(0)) { return x; } else { return x * slope; }"),
    "double slope": lambda: kernel("return x > 0 ? x : T(slope) * x;", "T x, double slope"),
    "a factor": lambda: kernel("T factor = x > 0 ? T(1) : slope; return factor * x;"),
    "a helper": lambda: JIT(
        "template <typename T> T pick(bool c, T a, T b) { if (c) return a; return b; }\n"
        "template <typename T> T leaky_relu(T x, T slope) { return pick(x > 0, x, slope * x); }",
        slope=0.01,
    ),
    "a lambda around it": lambda: (lambda k: lambda x, slope=0.01: k(x, slope=slope))(kernel(GOOD)),
    "functools.partial": lambda: functools.partial(kernel(GOOD, slope=9.0), slope=0.01),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_rejected_for_its_own_reason(name, rejected):
    rejected(ID, *MUTANTS[name])


@pytest.mark.parametrize("name", HONEST)
def test_honest_variation_passes(name, accepted):
    accepted(ID, HONEST[name])


def test_the_larger_of_the_two_is_right_for_slopes_below_0(rejected):
    verdict = rejected(ID, *MUTANTS["max"])
    assert "For a slope above 1 that is the wrong one" in verdict.explanation
    assert "below 0" not in verdict.explanation
