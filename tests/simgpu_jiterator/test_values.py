"""Functions against values computed with 40 digits: no more than one ULP off, so that the distance to a GPU is
at most CUDA's documented error of the function plus one ULP."""

# ruff: noqa: E501 (the table reads better in long lines)

from __future__ import annotations

import math

import mpmath
import pytest
import torch

create = torch.cuda.jiterator._create_jit_fn

mp = mpmath.mp.clone()
mp.dps = 40


def sinpi(x):
    return mp.sin(mp.pi * x)


def inverse_erfc(y):
    """The t with erfc(t) = y, by halving."""
    low, high = mp.mpf(-30), mp.mpf(30)
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if mp.erfc(middle) > y else (low, middle)
    return low


def real_cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


SMALL = [-0.99, -0.6, -0.25, -1e-3, 1e-8, 0.01, 0.3, 0.5, 0.75, 0.999]
ANY = [-30.5, -3.0, -1.25, -0.1, 1e-6, 0.2, 0.5, 1.0, 2.7, 10.0, 33.3, 1000.5]
POSITIVE = [1e-6, 0.01, 0.2, 0.5, 0.99, 1.0, 1.01, 2.7, 10.0, 33.3, 170.0]

# name: exact function, arguments
FUNCTIONS = {
    "exp": (mp.exp, [x for x in ANY if x < 80]),
    "exp2": (lambda x: mp.mpf(2) ** x, [x for x in ANY if x < 80]),
    "exp10": (lambda x: mp.mpf(10) ** x, [x for x in ANY if abs(x) < 35]),
    "expm1": (mp.expm1, [x for x in ANY if x < 80]),
    "log": (mp.log, POSITIVE), "log2": (lambda x: mp.log(x, 2), POSITIVE), "log10": (mp.log10, POSITIVE),
    "log1p": (mp.log1p, [-0.99, -0.5, -1e-5, 1e-6, 0.3, 5.0]),
    "sin": (mp.sin, ANY), "cos": (mp.cos, ANY), "tan": (mp.tan, ANY),
    "asin": (mp.asin, SMALL), "acos": (mp.acos, SMALL), "atan": (mp.atan, ANY),
    "sinh": (mp.sinh, [x for x in ANY if x < 80]), "cosh": (mp.cosh, [x for x in ANY if x < 80]), "tanh": (mp.tanh, ANY),
    "asinh": (mp.asinh, ANY), "acosh": (mp.acosh, [1.0, 1.01, 2.0, 33.3, 1e5]), "atanh": (mp.atanh, SMALL),
    "sqrt": (mp.sqrt, POSITIVE), "rsqrt": (lambda x: 1 / mp.sqrt(x), POSITIVE),
    "cbrt": (real_cbrt, ANY), "rcbrt": (lambda x: 1 / real_cbrt(x), ANY),
    "erf": (mp.erf, ANY), "erfc": (mp.erfc, [x for x in ANY if x < 9]),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [-3.0, -0.5, 0.1, 1.0, 5.0, 9.9, 10.1, 30.0, 1e4]),
    "erfinv": (lambda x: inverse_erfc(1 - x), SMALL), "erfcinv": (inverse_erfc, [1e-30, 1e-8, 0.1, 0.5, 0.9, 1.2, 1.9]),
    "normcdf": (mp.ncdf, [x for x in ANY if abs(x) < 12]), "normcdfinv": (lambda p: -mp.sqrt(2) * inverse_erfc(2 * p), [1e-30, 1e-6, 0.1, 0.3, 0.7, 0.99]),
    "tgamma": (mp.gamma, [-3.5, -0.5, 0.1, 0.5, 1.0, 2.7, 5.0, 30.0]),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), [-3.5, -0.5, 0.1, 0.5, 2.7, 5.0, 30.0, 1000.5]),
    "sinpi": (sinpi, [-0.25, 0.1, 0.375, 0.9, 1.1, 3.7, 1000.3]), "cospi": (lambda x: mp.cos(mp.pi * x), [-0.25, 0.1, 0.375, 0.9, 1.1, 3.7, 1000.3]),
    "j0": (lambda x: mp.besselj(0, x), [0.1, 1.0, 5.0, 20.0]), "j1": (lambda x: mp.besselj(1, x), [0.1, 1.0, 5.0, 20.0]),
    "y0": (lambda x: mp.bessely(0, x), [0.1, 1.0, 5.0, 20.0]), "y1": (lambda x: mp.bessely(1, x), [0.1, 1.0, 5.0, 20.0]),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), [0.1, 1.0, 5.0, 29.0, 31.0, 80.0]),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), [-1.0, 0.1, 5.0, 29.0, 31.0, 80.0]),
}  # fmt: skip
TWO = {
    "pow": (
        lambda x, y: mp.mpf(x) ** y,
        [(2.0, 0.5), (0.1, 7.3), (10.0, -3.0), (1.0001, 5000.0), (33.3, 5.5)],
    ),
    "atan2": (mp.atan2, [(1.0, 2.0), (-1.0, -3.0), (0.1, -5.0), (7.0, 0.3)]),
    "hypot": (mp.hypot, [(3.0, 4.0), (1e-3, 5.5), (2.2, 2.3)]),
    "rhypot": (lambda x, y: 1 / mp.hypot(x, y), [(3.0, 4.0), (1e-3, 5.5), (2.2, 2.3)]),
}


def ulps(got: float, exact, dtype: torch.dtype) -> float:
    """How many units in the last place of `dtype` lie between `got` and `exact`."""
    near = torch.tensor(float(exact), dtype=dtype)
    unit = torch.nextafter(near.abs(), torch.tensor(math.inf, dtype=dtype)) - near.abs()
    return float(abs(mp.mpf(got) - exact) / mp.mpf(unit.item()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, dtype):
    exact, arguments = FUNCTIONS[name]
    x = torch.tensor(arguments, dtype=dtype, device="cuda")
    got = create("template <typename T> T f(T x) { return %s(x); }" % name)(x)  # noqa: UP031
    for argument, value in zip(x.tolist(), got.tolist(), strict=True):
        assert ulps(value, exact(mp.mpf(argument)), dtype) <= 1, (argument, value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", TWO)
def test_function_of_two(name, dtype):
    exact, arguments = TWO[name]
    x, y = (torch.tensor([pair[i] for pair in arguments], dtype=dtype, device="cuda") for i in (0, 1))
    got = create("template <typename T> T f(T x, T y) { return %s(x, y); }" % name)(x, y)  # noqa: UP031
    for a, b, value in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
        assert ulps(value, exact(mp.mpf(a), mp.mpf(b)), dtype) <= 1, (a, b, value)


@pytest.mark.parametrize("size", [1, 7, 1000, 40_000])
@pytest.mark.parametrize("name", ["exp", "tanh", "sin", "erf", "log1p", "expm1"])
def test_vectorised_loops_give_the_same(name, size):
    """Whatever the number of elements: the same value for the same argument, near what PyTorch gives."""
    x = torch.linspace(-5, 5, size, device="cuda")
    x = x.abs() if name == "log1p" else x
    kernel = create("template <typename T> T f(T x) { return %s(x); }" % name)  # noqa: UP031
    got = kernel(x)
    torch.testing.assert_close(
        got, getattr(torch, name)(x.double()).float(), rtol=2e-7, atol=1e-37, equal_nan=True
    )
    torch.testing.assert_close(got[:1], kernel(x[:1]), rtol=2e-7, atol=0)


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, 3e38]


@pytest.mark.parametrize(
    "name", ["exp", "log", "sin", "cos", "tanh", "sqrt", "erf", "floor", "round", "atan", "expm1"]
)
def test_special_values(name):
    x = torch.tensor(SPECIAL * 9, device="cuda")  # long enough to be vectorised
    got = create("template <typename T> T f(T x) { return %s(x); }" % name)(x)  # noqa: UP031
    reference = getattr(torch, name)(x.cpu().double()).float()
    torch.testing.assert_close(got.cpu(), reference, rtol=2e-7, atol=0, equal_nan=True)
    zero = got.cpu()[reference == 0]
    assert torch.equal(torch.signbit(zero), torch.signbit(reference[reference == 0]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_half_survives_the_way_through_a_kernel(dtype):
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    x = bits.view(dtype).cuda()
    got = create("template <typename T> T f(T x) { return x; }")(x)
    assert torch.equal(torch.isnan(got), torch.isnan(x))
    kept = ~torch.isnan(x.cpu())
    assert torch.equal(got.cpu().view(torch.int16)[kept], bits[kept])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_results_are_rounded_to_the_nearest_half(dtype):
    torch.manual_seed(0)
    x = torch.cat([torch.randn(5000), torch.randn(5000) * 1e-6, torch.randn(100) * 100]).to(dtype).cuda()
    got = create("template <typename T> T f(T x) { return x * T(1.0009765625) + x * x; }")(x)
    exact = x.cpu().double() * 1.0009765625 + x.cpu().double() ** 2
    torch.testing.assert_close(
        got.cpu(), exact.float().to(dtype), rtol=0.01 if dtype is torch.bfloat16 else 1e-3, atol=1e-7
    )


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"])  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_functions(name, dtype):
    torch.manual_seed(0)
    z = torch.randn(200, dtype=torch.complex128).to(dtype).cuda()
    got = create("template <typename T> T f(T z) { return std::%s(z); }" % name)(z)  # noqa: UP031
    tolerance = 1e-5 if dtype is torch.complex64 else 1e-12
    reference = getattr(torch, name)(z.cpu().to(torch.complex128)).to(dtype)
    torch.testing.assert_close(got.cpu(), reference, rtol=tolerance, atol=tolerance)
