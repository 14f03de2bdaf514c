"""numba kernels: dtypes, integer and floating-point arithmetic."""

from __future__ import annotations

import math
from functools import partial

import torch
from numba import cuda

from . import harness
from .harness import D, T, V

case = partial(harness.case, recorded=False)


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i]


_FLOATS = ("float32", "float64")
_INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@case(
    "numba-data/each_dtype",
    expect={
        **{dt: {"dt": dt, "shape": [3], "v": [2.0, 4.0, 200.0]} for dt in _FLOATS},
        **{dt: {"dt": dt, "shape": [3], "v": [2, 4, 200]} for dt in _INTS},
        "int8": {"dt": "int8", "shape": [3], "v": [2, 4, -56]},
        "complex64": {"dt": "complex64", "shape": [3], "v": [[2.0, 0.0], [4.0, 0.0], [200.0, 0.0]]},
    },
)
def each_dtype():
    out = {}
    for dt in (*_FLOATS, *_INTS, "complex64"):
        x = T([1, 2, 100]).to(getattr(torch, dt))
        y = torch.zeros_like(x)
        double[1, 32](x, y)
        out[dt] = V(y)
    return out


@case(
    "numba-data/booleans",
    expect=[
        {"dt": "bool", "shape": [4], "v": [True, True, False, True]},
        {"dt": "bool", "shape": [4], "v": [False, True, False, False]},
    ],
)
def booleans():
    @cuda.jit
    def kernel(x, y, either, equal):
        i = cuda.grid(1)
        if i < x.size:
            either[i] = x[i] or y[i]
            equal[i] = not x[i] and y[i]

    x, y = T([True, False, False, True]), T([True, True, False, False])
    either, equal = torch.zeros_like(x), torch.zeros_like(x)
    kernel[1, 4](x, y, either, equal)
    return [V(either), V(equal)]


@case(
    "numba-data/complex_arithmetic",
    expect={
        "dt": "complex128",
        "shape": [5],
        "v": [[-5.0, 10.0], [1.0, -2.0], [5.0, 0.0], [2.0, 1.0], [0.0, 1.0]],
    },
)
def complex_arithmetic():
    @cuda.jit
    def kernel(z, out):
        out[0] = z[0] * z[1]
        out[1] = z[0].conjugate()
        out[2] = abs(z[1])
        out[3] = z[0].imag + z[0].real * 1j
        out[4] = z[0] / (z[0].imag - 1j * z[0].real)

    out = torch.zeros(5, dtype=torch.complex128, device=D)
    kernel[1, 1](T([1 + 2j, 3 + 4j], "complex128"), out)
    return V(out)


@case("numba-data/negative_integers_divide_as_in_python", expect=[-4, 3, -3, 1, 2, -2, -3, 15, 2])
def negative_integers_divide_as_in_python():
    @cuda.jit
    def kernel(x, out):
        seven, two = x[0], x[1]
        out[0] = -seven // two
        out[1] = seven // two
        out[2] = -seven % 4 - 4
        out[3] = seven % two
        out[4] = -seven % 3
        out[5] = seven % -3
        out[6] = seven // -3
        out[7] = -(-seven * two) + 1
        out[8] = seven >> 1 & 6

    out = torch.zeros(9, dtype=torch.int64, device=D)
    kernel[1, 1](T([7, 2]), out)
    return out.tolist()


@case("numba-data/true_division_of_integers", expect=[3.5, -0.5, "inf", "nan", 2.5])
def true_division_of_integers():
    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] / x[1]
        out[1] = -1 / x[1]
        out[2] = x[0] / x[2]
        out[3] = x[2] / x[2]
        out[4] = 5 / x[1]

    out = torch.zeros(5, dtype=torch.float64, device=D)
    kernel[1, 1](T([7, 2, 0], "int32"), out)
    return out.tolist()


@case("numba-data/floor_division_of_integers_by_zero", expect=[0, 0])
def floor_division_of_integers_by_zero():
    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] // x[1]
        out[1] = x[0] % x[1]

    out = torch.full((2,), 5, device=D)
    kernel[1, 1](T([7, 0]), out)
    return out.tolist()


@case("numba-data/bits", expect=[8, 14, 6, -13, 48, 3, -1])
def bits():
    @cuda.jit
    def kernel(x, out):
        a, b = x[0], x[1]
        out[0] = a & b
        out[1] = a | b
        out[2] = a ^ b
        out[3] = ~a
        out[4] = a << 2
        out[5] = a >> 2
        out[6] = -a >> 6

    out = torch.zeros(7, dtype=torch.int32, device=D)
    kernel[1, 1](T([12, 10], "int32"), out)
    return out.tolist()


@case("numba-data/int32_products_are_made_in_64_bits", expect=[10**10, 1410065408])
def int32_products_are_made_in_64_bits():
    @cuda.jit
    def kernel(x, wide, narrow):
        wide[0] = x[0] * x[0]
        narrow[0] = x[0] * x[0]

    wide, narrow = T([0]), T([0], "int32")
    kernel[1, 1](T([100_000], "int32"), wide, narrow)
    return [wide.item(), narrow.item()]


@case(
    "numba-data/floats_to_integers",
    expect=[[2, -2, 0, 0], [2, -2, 0, 0], [2, -3, 0, -1], [3, -2, 1, 0]],
)
def floats_to_integers():
    @cuda.jit
    def kernel(x, cut, stored, below, above):
        i = cuda.grid(1)
        cut[i] = int(x[i])
        stored[i] = x[i]
        below[i] = math.floor(x[i])
        above[i] = math.ceil(x[i])

    x = T([2.9, -2.1, 0.5, -0.5], "float64")
    outs = [torch.zeros(4, dtype=torch.int64, device=D) for _ in range(4)]
    kernel[1, 4](x, *outs)
    return [o.tolist() for o in outs]


_X = [0.5, 1.25, 2.0, 3.75]
_MATH = ("sin", "cos", "tan", "exp", "log", "log2", "sqrt", "tanh", "sinh", "erf", "atan", "expm1", "log1p")


@case(
    "numba-data/math_in_float32",
    expect={
        f: {"dt": "float32", "shape": [4], "v": torch.tensor([getattr(math, f)(v) for v in _X]).tolist()}
        for f in _MATH
    },
)
def math_in_float32():
    out = {}
    for name in _MATH:
        function = getattr(math, name)

        @cuda.jit
        def kernel(x, y):
            i = cuda.grid(1)
            if i < x.size:
                y[i] = function(x[i])  # noqa: B023

        y = torch.zeros(4, device=D)
        kernel[1, 4](T(_X), y)
        out[name] = V(y)
    return out


@case("numba-data/not_a_number_and_infinity", expect=[False, True, True, True, False, "nan", "inf", "-inf"])
def not_a_number_and_infinity():
    @cuda.jit
    def kernel(x, told, out):
        told[0] = x[0] == x[0]
        told[1] = x[0] != x[0]
        told[2] = math.isnan(x[0])
        told[3] = math.isinf(x[1])
        told[4] = math.isfinite(x[1])
        out[0] = x[0] + 1
        out[1] = x[1] * 2
        out[2] = -x[1]

    told, out = torch.zeros(5, dtype=torch.bool, device=D), torch.zeros(3, device=D)
    kernel[1, 1](T([math.nan, math.inf]), told, out)
    return [*told.tolist(), *out.tolist()]
