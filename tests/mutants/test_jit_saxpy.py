import functools

import pytest
import torch

from grader.check import Reason, Values

ID = "jit-saxpy"
JIT = torch.cuda.jiterator._create_jit_fn


def kernel(body, parameters="T x, T y, T alpha", alpha=1.0, name="saxpy"):
    return JIT(f"template <typename T> T {name}({parameters}) {{ {body} }}", alpha=alpha)


def baked():
    def saxpy(x, y, alpha=1.0):
        return JIT(f"template <typename T> T saxpy(T x, T y) {{ return T({alpha!r}) * x + y; }}")(x, y)

    return saxpy


def wrapped(change):
    k = kernel("return alpha * x + y;")
    return lambda x, y, alpha=1.0: k(x, y, alpha=change(alpha))


def two_kernels():
    scale = JIT("template <typename T> T scale(T x, T alpha) { return alpha * x; }", alpha=1.0)
    add = JIT("template <typename T> T add(T x, T y) { return x + y; }")
    return lambda x, y, alpha=1.0: add(scale(x, alpha=alpha), y)


def half_inside():
    k = kernel("return alpha * x + y;")
    return lambda x, y, alpha=1.0: k(x.half(), y.half(), alpha=alpha).to(x.dtype)


def tail_forgotten():
    k = kernel("return alpha * x + y;")

    def saxpy(x, y, alpha=1.0):
        result = k(x, y, alpha=alpha)
        if result.dim() == 1 and result.numel() > 32:
            result[result.numel() // 32 * 32 :] = 0
        return result

    return saxpy


def writes_into_y():
    k = kernel("return alpha * x + y;")

    def saxpy(x, y, alpha=1.0):
        y.copy_(k(x, y, alpha=alpha))
        return y

    return saxpy


MUTANTS = {
    "alpha ignored": (lambda: kernel("return x + y;"), Values.WRONG, Reason.VALUE),
    "alpha on y": (lambda: kernel("return x + alpha * y;"), Values.WRONG, Reason.VALUE),
    "alpha on both": (lambda: kernel("return alpha * (x + y);"), Values.WRONG, Reason.VALUE),
    "minus": (lambda: kernel("return alpha * x - y;"), Values.WRONG, Reason.VALUE),
    "alpha added": (lambda: kernel("return alpha + x + y;"), Values.WRONG, Reason.VALUE),
    "y forgotten": (lambda: kernel("return alpha * x;"), Values.WRONG, Reason.VALUE),
    "parameters in another order": (
        lambda: kernel("return alpha * x + y;", "T alpha, T x, T y"),
        Values.WRONG,
        Reason.VALUE,
    ),
    "int alpha": (lambda: kernel("return alpha * x + y;", "T x, T y, int alpha"), Values.WRONG, Reason.VALUE),
    "alpha cut in Python": (lambda: wrapped(int), Values.WRONG, Reason.VALUE),
    "default 2": (lambda: kernel("return alpha * x + y;", alpha=2.0), Values.WRONG, Reason.DEFAULT),
    "default 0": (lambda: kernel("return alpha * x + y;", alpha=0.0), Values.WRONG, Reason.DEFAULT),
    "another keyword": (
        lambda: JIT("template <typename T> T saxpy(T x, T y, T a) { return a * x + y; }", a=1.0),
        Values.ERROR,
        Reason.RAISED,
    ),
    "no keyword": (
        lambda: JIT("template <typename T> T saxpy(T x, T y) { return x + y; }"),
        Values.ERROR,
        Reason.RAISED,
    ),
    "no parameter for the keyword": (
        lambda: kernel("return x + y;", "T x, T y"),
        Values.ERROR,
        Reason.COMPILE,
    ),
    "float only": (
        lambda: JIT(
            "template <typename T> float f(float x, float y, float a) { return a * x + y; }", alpha=1.0
        ),
        Values.WRONG,
        Reason.PRECISION,
    ),
    "half precision": (half_inside, Values.WRONG, Reason.PRECISION),
    "tail": (tail_forgotten, Values.WRONG, Reason.TAIL),
    "two kernels": (two_kernels, Values.WRONG, Reason.TOO_MANY_LAUNCHES),
    "torch's": (
        lambda: lambda x, y, alpha=1.0: torch.add(y, x, alpha=alpha),
        Values.WRONG,
        Reason.FORBIDDEN_FALLBACK,
    ),
    "writes into y": (lambda: writes_into_y(), Values.UNSAFE, Reason.INPUT_CHANGED),
    "zeros": (lambda: kernel("return 0;"), Values.WRONG, Reason.VALUE),
    "x itself": (lambda: lambda x, y, alpha=1.0: x, Values.UNSAFE, Reason.ALIASED),
    "a copy of x": (lambda: kernel("return x;"), Values.WRONG, Reason.VALUE),
    "a constant": (lambda: kernel("return alpha;"), Values.WRONG, Reason.VALUE),
    "std::max": (lambda: kernel("return std::max(x, y);"), Values.ERROR, Reason.COMPILE),
    "starter": (lambda: None, Values.NOT_ATTEMPTED, Reason.NOT_ATTEMPTED),
}

HONEST = {
    "fma": lambda: kernel("return fma(alpha, x, y);"),
    "double alpha": lambda: kernel("return T(alpha) * x + y;", "T x, T y, double alpha"),
    "y first": lambda: kernel("return y + x * alpha;"),
    "a helper": lambda: JIT(
        "template <typename T> T times(T a, T b) { return a * b; }\n"
        "template <typename T> T saxpy(T x, T y, T alpha) { return times(alpha, x) + y; }",
        alpha=1.0,
    ),
    "a def around it": lambda: wrapped(float),
    "functools.partial": lambda: functools.partial(kernel("return alpha * x + y;")),
    "a keyword of another name, wrapped": lambda: (lambda k: lambda x, y, alpha=1.0: k(x, y, factor=alpha))(
        JIT("template <typename T> T saxpy(T x, T y, T factor) { return factor * x + y; }", factor=1.0)
    ),
    "an int as default": lambda: (lambda k: lambda x, y, alpha=1: k(x, y, alpha=float(alpha)))(
        kernel("return alpha * x + y;")
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_rejected_for_its_own_reason(name, rejected):
    rejected(ID, *MUTANTS[name])


@pytest.mark.parametrize("name", HONEST)
def test_honest_variation_passes(name, accepted):
    accepted(ID, HONEST[name])


def test_a_constant_in_the_text_is_right_but_warned_of(accepted):
    verdict = accepted(ID, baked)
    assert any("created inside the function" in warning for warning in verdict.warnings)
