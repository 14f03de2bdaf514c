"""jiterator: promotion over the inputs."""

from __future__ import annotations

import torch

from .harness import JM, J, T, V, case

ADD = "template <typename T> T add(T a, T b) { return a + b; }"


def sums(pairs):
    f = J(ADD)
    return [V(f(T(*a), T(*b))) for a, b in pairs]


@case("jit-types/zero_dim_higher_kind_wins")
def zero_dim_higher_kind_wins():
    return sums(
        [
            (([1, 2], "int32"), (0.5, "float64")),
            (([1, 2], "int64"), (0.5, "float16")),
            (([True, False], "bool"), (5, "int64")),
            (([1.0, 2.0], "float64"), (1j, "complex64")),
        ]
    )


@case("jit-types/default_dtype_does_not_matter")
def default_dtype_does_not_matter():
    torch.set_default_dtype(torch.float64)
    return sums([(([1, 2], "int32"), (0.5, "float32")), (([1, 2], "int32"), ([0.5, 1.5], "float32"))])


@case("jit-types/three_dtypes_at_once")
def three_dtypes_at_once():
    f = J("template <typename T> T f(T a, T b, T c) { return a * b + c; }")
    return [
        V(f(T([1, 2, 3], "uint8"), T([0.5, 1.0, 1.5], "float16"), T([10.0, 20.0, 30.0], "float64"))),
        V(f(T([True, False, True]), T([3, 4, 5], "int16"), T(7, "int64"))),
    ]


@case("jit-types/outputs_follow_the_common_dtype")
def outputs_follow_the_common_dtype():
    f = JM(
        "template <typename T> void f(T a, T b, T& less, T& quotient) { less = a < b; quotient = a / b; }", 2
    )
    return [V(o) for o in f(T([7, 2, -7], "int32"), T([2, 4, 2], "int16"))] + [
        V(o) for o in f(T([7, 2, -7], "int32"), T([2.0, 4.0, 2.0]))
    ]
