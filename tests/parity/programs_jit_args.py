"""jiterator: tensors and keyword arguments."""

from __future__ import annotations

import math

import numpy as np
import torch

from .harness import ET, JM, E, F, J, T, V, case, refused

ADD = "template <typename T> T add(T a, T b) { return a + b; }"


@case("jit-args/two_to_eight_outputs")
def two_to_eight_outputs():
    out = {}
    for n in (2, 3, 5, 8):
        refs, sets = (
            ", ".join(f"T& o{i}" for i in range(n)),
            " ".join(f"o{i} = x + T({i});" for i in range(n)),
        )
        f = JM("template <typename T> void f(T x, " + refs + ") { " + sets + " }", n)
        r = f(F(2))
        out[n] = [type(r).__name__, len(r), [o.tolist() for o in r]]
    return out


@case("jit-args/too_many_inputs")
def too_many_inputs():
    f = J("template <typename T> T f(T a) { return a; }")
    return [E(f, *[F(2)] * 9), E(f, *[F(2)] * 20), E(f, *[torch.ones(2)] * 12)]


@case("jit-args/arity_of_tensors")
def arity_of_tensors():
    f = J(ADD)
    return [refused(f, F(2)), refused(f, F(2), F(2), F(2))]


@case("jit-args/declared_order_beats_the_names")
def declared_order_beats_the_names():
    f = J("template <typename T> T f(T x, T a, T b) { return x * a - b; }", b=10.0, a=1.0)
    return [V(f(F(3, 1))), V(f(F(3, 1), a=2.0))]


@case("jit-args/keyword_shadows_a_tensor_parameter")
def keyword_shadows_a_tensor_parameter():
    f = J("template <typename T> T f(T x, T y) { return x - y; }", y=2.0)
    return [V(f(F(3))), V(f(F(3), y=0.5)), refused(f, F(3), F(3))]


@case("jit-args/keyword_types")
def keyword_types():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=1)
    x = F(3, 1)
    return [
        V(f(x)),
        V(f(x, k=2.5)),
        V(f(x, k=True)),
        V(f(x, k=False)),
        V(f(x, k=-3)),
        V(f(x, k=math.inf)),
        V(f(x, k=math.nan)),
        V(f(x, k=2**40)),
    ]


@case("jit-args/keyword_into_an_integer_kernel")
def keyword_into_an_integer_kernel():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=1)
    return [
        V(f(T([1, 2, 3], "int64"), k=2.9)),
        V(f(T([1, 2, 3], "int64"), k=-2.9)),
        V(f(T([100, 2], "uint8"), k=3)),
        V(f(T([1, 2], "int8"), k=1.5)),
        V(f(T([True, False]), k=2)),
    ]


@case("jit-args/complex_keyword")
def complex_keyword():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=1 + 2j)
    return [
        ET(lambda: V(f(T([1 + 0j, 1j], "complex128")))),
        ET(lambda: V(f(T([1 + 0j, 1j])))),
        ET(lambda: V(f(F(2, 1)))),
    ]


@case("jit-args/tensor_keyword")
def tensor_keyword():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=1.0)
    return [
        E(lambda: V(f(F(2, 1), k=T(2.5)))),
        E(lambda: V(f(F(2, 1), k=torch.tensor(3)))),
        E(lambda: V(f(F(2, 1), k=T([4.0])))),
        E(lambda: V(f(F(2, 1), k=T([4.0, 5.0])))),
    ]


@case("jit-args/numpy_scalar_keyword")
def numpy_scalar_keyword():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=1.0)
    return [
        E(lambda v=v: V(f(F(2, 1), k=v)))
        for v in (np.float64(2.5), np.float32(2.5), np.int64(3), np.bool_(True))
    ]


@case("jit-args/keyword_of_a_wrong_type")
def keyword_of_a_wrong_type():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=1.0)
    return [E(f, F(2), k=v) for v in ([1.0], (1.0,), {}, b"1")]


@case("jit-args/unknown_keyword")
def unknown_keyword():
    f = J("template <typename T> T f(T x, T gain) { return x * gain; }", gain=2.0)
    return [E(f, F(2), gian=3.0), E(f, F(2), gain=1.0, offset=2.0), E(f, F(2), 3.0)]


@case("jit-args/keyword_count_and_signature")
def keyword_count_and_signature():
    return [
        refused(J("template <typename T> T f(T x) { return x; }", k=1.0), F(2)),
        refused(J("template <typename T> T f(T x, T k) { return x; }"), F(2)),
    ]


@case("jit-args/no_tensor_at_all")
def no_tensor_at_all():
    return [
        ET(J("template <typename T> T f(T x) { return x; }")),
        ET(J("template <typename T> T f(T k) { return k; }", k=1.0), k=2.0),
    ]
