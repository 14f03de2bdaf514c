import functools

import pytest
import torch

from grader.check import Reason, Values

ID = "compile-once"
JIT = torch.cuda.jiterator._create_jit_fn
CODE = "template <typename T> T scale(T x, T alpha) { return alpha * x; }"


def baked(text="{alpha!r}"):
    """The article's way: a number pasted into the text."""

    def scale(x, alpha):
        number = text.format(alpha=alpha)
        return JIT(f"template <typename T> T scale(T x) {{ return T({number}) * x; }}")(x)

    return scale


def cache_by_alpha():
    kernels = {}

    def scale(x, alpha):
        if alpha not in kernels:
            kernels[alpha] = JIT(f"template <typename T> T scale(T x) {{ return T({alpha!r}) * x; }}")
        return kernels[alpha](x)

    return scale


def lru_by_alpha():
    @functools.cache
    def made(alpha):
        return JIT(f"template <typename T> T scale(T x) {{ return T({alpha!r}) * x; }}")

    return lambda x, alpha: made(alpha)(x)


def factory_in_call():
    def scale(x, alpha):
        return JIT(CODE, alpha=1.0)(x, alpha=alpha)

    return scale


def kernel_per_alpha():
    kernels = {}

    def scale(x, alpha):
        if alpha not in kernels:
            kernels[alpha] = JIT(CODE, alpha=alpha)
        return kernels[alpha](x)

    return scale


def renamed_each_time():
    count = [0]

    def scale(x, alpha):
        count[0] += 1
        return JIT(CODE.replace("scale", f"scale{count[0]}"), alpha=1.0)(x, alpha=alpha)

    return scale


def first_alpha_only():
    kernels = []

    def scale(x, alpha):
        if not kernels:
            kernels.append(JIT(CODE, alpha=alpha))
        return kernels[0](x)

    return scale


def with_kernel(use, code=CODE, **keywords):
    k = JIT(code, **(keywords or {"alpha": 1.0}))
    return lambda x, alpha: use(k, x, alpha)


MUTANTS = {
    "a constant in an f-string": (baked, Values.WRONG, Reason.RECOMPILED),
    "a cache keyed by alpha": (cache_by_alpha, Values.WRONG, Reason.RECOMPILED),
    "lru_cache keyed by alpha": (lru_by_alpha, Values.WRONG, Reason.RECOMPILED),
    "a new name each time": (renamed_each_time, Values.WRONG, Reason.RECOMPILED),
    "the factory in the call": (factory_in_call, Values.WRONG, Reason.CREATED_IN_CALL),
    "a kernel for each alpha": (kernel_per_alpha, Values.WRONG, Reason.CREATED_IN_CALL),
    "rounded to two digits": (lambda: baked("{alpha:.2f}"), Values.WRONG, Reason.VALUE),
    "rounded to six digits": (lambda: baked("{alpha:f}"), Values.WRONG, Reason.VALUE),
    "the first alpha for ever": (first_alpha_only, Values.WRONG, Reason.REMEMBERED),
    "alpha never passed": (lambda: with_kernel(lambda k, x, alpha: k(x)), Values.WRONG, Reason.VALUE),
    "alpha cut": (
        lambda: with_kernel(lambda k, x, alpha: k(x, alpha=int(alpha))),
        Values.WRONG,
        Reason.VALUE,
    ),
    "added": (
        lambda: with_kernel(lambda k, x, alpha: k(x, alpha=alpha), CODE.replace("*", "+")),
        Values.WRONG,
        Reason.VALUE,
    ),
    "alpha as a full tensor": (
        lambda: (lambda k: lambda x, alpha: k(x, torch.full_like(x, alpha)))(
            JIT("template <typename T> T scale(T x, T a) { return a * x; }")
        ),
        Values.WRONG,
        Reason.FORBIDDEN_FALLBACK,
    ),
    "the operator": (lambda: lambda x, alpha: alpha * x, Values.WRONG, Reason.FORBIDDEN_FALLBACK),
    "positional alpha": (lambda: with_kernel(lambda k, x, alpha: k(x, alpha)), Values.ERROR, Reason.RAISED),
    "x itself": (lambda: lambda x, alpha: x, Values.UNSAFE, Reason.ALIASED),
    "zeros": (lambda: with_kernel(lambda k, x, alpha: k(x, alpha=0.0)), Values.WRONG, Reason.VALUE),
    "a constant": (
        lambda: with_kernel(lambda k, x, alpha: k(x, alpha=1.0), CODE.replace("alpha * x", "T(3)")),
        Values.WRONG,
        Reason.VALUE,
    ),
    "starter": (lambda: _starter, Values.NOT_ATTEMPTED, Reason.NOT_ATTEMPTED),
}


def _starter(x, alpha):
    """alpha * x by your kernel."""
    ...


def lazily_once():
    @functools.cache
    def kernel():
        return JIT(CODE, alpha=1.0)

    return lambda x, alpha: kernel()(x, alpha=alpha)


HONEST = {
    "a keyword": lambda: with_kernel(lambda k, x, alpha: k(x, alpha=alpha)),
    "created at the first call": lazily_once,
    "the kernel itself, behind a partial": lambda: (
        lambda k: lambda x, alpha: functools.partial(k, alpha=alpha)(x)
    )(JIT(CODE, alpha=1.0)),
    "a default argument holds the kernel": lambda: _with_default(JIT(CODE, alpha=1.0)),
    "double in C++": lambda: with_kernel(
        lambda k, x, alpha: k(x, alpha=alpha),
        "template <typename T> T scale(T x, double alpha) { return T(alpha) * x; }",
    ),
    "a 0-dim tensor as second input": lambda: (
        lambda k: lambda x, alpha: k(x, torch.tensor(alpha, device="cuda", dtype=x.dtype))
    )(JIT("template <typename T> T scale(T x, T a) { return a * x; }")),
}


def _with_default(kernel):
    def scale(x, alpha, kernel=kernel):
        return kernel(x, alpha=alpha)

    return scale


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_rejected_for_its_own_reason(name, rejected):
    rejected(ID, *MUTANTS[name])


@pytest.mark.parametrize("name", HONEST)
def test_honest_variation_passes(name, accepted):
    accepted(ID, HONEST[name])
