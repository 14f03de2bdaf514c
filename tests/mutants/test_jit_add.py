import functools

import pytest
import torch

from grader.check import Reason, Values

ID = "jit-add"
JIT = torch.cuda.jiterator._create_jit_fn


def kernel(body, parameters="T x, T y", **keywords):
    return JIT(f"template <typename T> T f({parameters}) {{ {body} }}", **keywords)


def then(after, body="return x + y;"):
    """A wrapper that computes the sum by a kernel and does `after(sum, x, y)` to it."""
    k = kernel(body)
    return lambda x, y: after(k(x, y), x, y)


class Lazy(torch.Tensor):
    """A tensor that would compute only when somebody looks."""

    def __eq__(self, other):
        return True

    __hash__ = None


def lazy():
    return lambda x, y: torch.Tensor._make_subclass(Lazy, torch.empty(x.shape))


class AlwaysEqual:
    def __eq__(self, other):
        return True

    __hash__ = None

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self


def by_key(key):
    """Remembers its answers by a key of the inputs."""
    k, seen = kernel("return x + y;"), {}

    def add(x, y):
        return seen.setdefault(key(x, y), k(x, y)).clone()

    return add


def kept(key):
    k, seen = kernel("return x + y;"), {}

    def add(x, y):
        name = key(x, y)
        if name not in seen:
            seen[name] = (x, y, k(x, y))  # holds the inputs, so that addresses are not used again
        return seen[name][2]

    return add


def _ends(t):
    flat = t.cpu().flatten()
    return (*flat[:2].tolist(), *flat[-2:].tolist())


def previous():
    k, last = kernel("return x + y;"), {}

    def add(x, y):
        now = k(x, y)
        old = last.get((now.shape, now.dtype), now * 0)
        last[now.shape, now.dtype] = now
        return old

    return add


def mutates(x, y):
    return x.add_(y).clone()


def returns_input_after_add(x, y):
    x += y
    return x


def flat_memory():
    k = kernel("return x + y;")

    def add(x, y):
        if x.shape != y.shape:
            return k(x, y)
        n = x.numel()
        return k(x.as_strided((n,), (1,)), y.as_strided((n,), (1,))).as_strided(x.shape, _dense(x.shape))

    return add


def _dense(shape):
    return torch.empty(shape).stride()


def frees_its_input(x, y):
    result = x + y
    x.untyped_storage().resize_(0)
    return result


MUTANTS = {
    "a sparse tensor": (lambda: lambda x, y: (x + y).to_sparse(), Values.WRONG, Reason.NOT_A_TENSOR),
    "frees its input": (lambda: frees_its_input, Values.UNSAFE, Reason.INPUT_CHANGED),
    "remembers by the ends": (
        lambda: kept(lambda x, y: (*map(tuple, (x.shape, y.shape)), x.dtype, *_ends(x), *_ends(y))),
        Values.WRONG,
        Reason.REMEMBERED,
    ),
    "subtracts": (lambda: kernel("return x - y;"), Values.WRONG, Reason.VALUE),
    "multiplies": (lambda: kernel("return x * y;"), Values.WRONG, Reason.VALUE),
    "ignores y": (lambda: kernel("return x;"), Values.WRONG, Reason.VALUE),
    "x twice": (lambda: kernel("return x + x;"), Values.WRONG, Reason.VALUE),
    "zeros": (lambda: kernel("return T(0);"), Values.WRONG, Reason.VALUE),
    "a constant": (lambda: kernel("return T(1);"), Values.WRONG, Reason.VALUE),
    "the input itself": (lambda: lambda x, y: x, Values.UNSAFE, Reason.ALIASED),
    "a view of the input": (lambda: lambda x, y: x[...], Values.UNSAFE, Reason.ALIASED),
    "through int": (lambda: kernel("return T(int(x) + int(y));"), Values.WRONG, Reason.VALUE),
    "half precision": (
        lambda: then(lambda s, x, y: s.half().float() if s.dtype == torch.float32 else s),
        Values.WRONG,
        Reason.PRECISION,
    ),
    "a float16 result": (lambda: then(lambda s, x, y: s.half()), Values.WRONG, Reason.DTYPE),
    "the GPU is left": (lambda: then(lambda s, x, y: s.cpu()), Values.WRONG, Reason.DEVICE),
    "one element for all": (lambda: then(lambda s, x, y: s.flatten()[:1]), Values.WRONG, Reason.SHAPE),
    "no broadcasting": (
        lambda: then(lambda s, x, y: s if x.shape == y.shape else s * 0 + x),
        Values.WRONG,
        Reason.BROADCAST,
    ),
    "torch.add": (lambda: torch.add, Values.WRONG, Reason.FORBIDDEN_FALLBACK),
    "the operator": (lambda: lambda x, y: x + y, Values.WRONG, Reason.FORBIDDEN_FALLBACK),
    "contiguous() first": (
        lambda: (lambda k: lambda x, y: k(x.contiguous(), y.contiguous()))(kernel("return x + y;")),
        Values.WRONG,
        Reason.FORBIDDEN_FALLBACK,
    ),
    "on the CPU": (lambda: lambda x, y: (x.cpu() + y.cpu()).cuda(), Values.WRONG, Reason.FORBIDDEN_FALLBACK),
    "two kernels": (
        lambda: (lambda k, same: lambda x, y: same(k(x, y)))(
            kernel("return x + y;"), kernel("return x;", "T x")
        ),
        Values.WRONG,
        Reason.TOO_MANY_LAUNCHES,
    ),
    "a third operand": (
        lambda: (lambda k: lambda x, y: k(x, y, torch.empty_like(x)))(
            kernel("return x + y;", "T x, T y, T z")
        ),
        Values.WRONG,
        Reason.TOO_MUCH_TRAFFIC,
    ),
    "changes x": (lambda: mutates, Values.UNSAFE, Reason.INPUT_CHANGED),
    "x += y": (lambda: returns_input_after_add, Values.UNSAFE, Reason.INPUT_CHANGED),
    "never written": (
        lambda: (
            lambda x, y: torch.empty(torch.broadcast_shapes(x.shape, y.shape), dtype=x.dtype, device="cuda")
        ),
        Values.WRONG,
        Reason.UNWRITTEN,
    ),
    "contiguous memory assumed": (flat_memory, Values.WRONG, Reason.STRIDED),
    "one parameter": (lambda: kernel("return x;", "T x"), Values.ERROR, Reason.COMPILE),
    "an unknown name": (lambda: kernel("return x + yy;"), Values.ERROR, Reason.COMPILE),
    "no semicolon": (lambda: kernel("return x + y"), Values.ERROR, Reason.COMPILE),
    "the text": (
        lambda: "template <typename T> T add(T x, T y) { return x + y; }",
        Values.ERROR,
        Reason.NOT_CALLABLE,
    ),
    "a result": (lambda: torch.ones(3), Values.ERROR, Reason.NOT_CALLABLE),
    "one argument": (lambda: lambda x: x, Values.ERROR, Reason.RAISED),
    "raises": (lambda: lambda x, y: 1 / 0, Values.ERROR, Reason.RAISED),
    "ends the program": (lambda: lambda x, y: exit(3), Values.ERROR, Reason.RAISED),
    "unreadable text in the call": (
        lambda: lambda x, y: JIT("// add\nT add(T x, T y) { return x + y; }")(x, y),
        Values.ERROR,
        Reason.PARSE,
    ),
    "None": (lambda: lambda x, y: print(end=""), Values.WRONG, Reason.NOT_A_TENSOR),
    "a list": (lambda: lambda x, y: (x + y).tolist(), Values.WRONG, Reason.NOT_A_TENSOR),
    "a lazy subclass": (lazy, Values.WRONG, Reason.NOT_A_TENSOR),
    "always equal": (lambda: lambda x, y: AlwaysEqual(), Values.WRONG, Reason.NOT_A_TENSOR),
    "the answer of before": (previous, Values.WRONG, Reason.REMEMBERED),
    "remembers by shape": (
        lambda: by_key(lambda x, y: (x.shape, y.shape, x.dtype, y.dtype)),
        Values.WRONG,
        Reason.REMEMBERED,
    ),
    "remembers by address": (
        lambda: kept(
            lambda x, y: (x.data_ptr(), y.data_ptr(), x.dtype, x.shape, y.shape, x.stride(), y.stride())
        ),
        Values.WRONG,
        Reason.REMEMBERED,
    ),
    "remembers by id": (lambda: kept(lambda x, y: (id(x), id(y))), Values.WRONG, Reason.REMEMBERED),
    "remembers by version": (
        lambda: kept(lambda x, y: (id(x), id(y), x._version, y._version)),
        Values.WRONG,
        Reason.REMEMBERED,
    ),
    "starter": (lambda: None, Values.NOT_ATTEMPTED, Reason.NOT_ATTEMPTED),
}


def wrapper():
    k = kernel("return x + y;")

    def add(x, y):
        """A wrapper with a docstring."""
        return k(x, y)

    return add


class Callable:
    def __init__(self):
        self.kernel = kernel("return x + y;")

    def __call__(self, x, y):
        return self.kernel(x, y)


HONEST = {
    "other names": lambda: JIT("template <class U> U plus(U a, U b) { U c = a + b; return c; }"),
    "a helper template": lambda: JIT(
        "template <typename T> T twice(T a, T b) { return b + a; }\n"
        "template <typename T> T add(T x, T y) { return twice(x, y); }"
    ),
    "a def around it": wrapper,
    "a lambda": lambda: (lambda k: lambda x, y: k(x, y))(kernel("return x + y;")),
    "functools.partial": lambda: functools.partial(kernel("return x + y;")),
    "a callable object": Callable,
    "several lines, comments inside": lambda: JIT("""
        template <typename T>
        T add(T x, T y) {
            // one element
            return x + y;   /* done */
        }
    """),
    "an output by reference": lambda: torch.cuda.jiterator._create_multi_output_jit_fn(
        "template <typename T> void add(T x, T y, T& out) { out = x + y; }", num_outputs=1
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_rejected_for_its_own_reason(name, rejected):
    rejected(ID, *MUTANTS[name])


@pytest.mark.parametrize("name", HONEST)
def test_honest_variation_passes(name, accepted):
    accepted(ID, HONEST[name])


@pytest.mark.parametrize(
    "head", ["float f(T x, T y)", "T f(float x, float y)", "double f(double x, double y)"]
)
def test_a_fixed_type_is_named_where_complex_values_are_lost(head, rejected):
    verdict = rejected(
        ID, lambda: JIT(f"template <typename T> {head} {{ return x + y; }}"), Values.WRONG, Reason.VALUE
    )
    assert "Write `T` there" in verdict.explanation and "complex64" in verdict.explanation
