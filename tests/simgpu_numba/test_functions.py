"""Functions that kernels call: arithmetic, atomics, warps, printing."""

import math

import numpy as np
import pytest
import torch
from numba import cuda, float32
from numba.cuda import libdevice

UNARY = [
    "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "fabs", "floor", "log1p",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "asinh", "lgamma", "gamma", "log", "log2",
    "log10", "degrees",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_math_functions(name, dtype):
    function = getattr(math, name)

    @cuda.jit
    def f(x, o):
        i = cuda.grid(1)
        if i < x.size:
            o[i] = function(x[i])

    x = np.linspace(0.01, 0.99, 50).astype(dtype)
    o = np.zeros_like(x)
    f[1, 64](x, o)
    expected = np.array([function(float(v)) for v in x])
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(o, expected, rtol=16 * eps, atol=2 * eps)


def test_functions_of_libdevice():
    @cuda.jit
    def f(x, o):
        o[0] = libdevice.rsqrt(x[0])
        o[1] = libdevice.fast_expf(np.float32(x[0]))
        o[2] = libdevice.normcdf(x[1])
        o[3] = libdevice.erfinv(x[1] / 4)
        o[4] = libdevice.double2int_rd(-x[2])
        o[5] = libdevice.popc(255)
        o[6] = libdevice.mulhi(1 << 30, 12)
        o[7] = libdevice.sinpi(x[1])
        o[8] = cuda.cbrt(x[3])
        o[9] = cuda.fma(x[0], x[1], x[2])
        o[10] = cuda.popc(7)
        o[11] = cuda.clz(np.int32(1))
        o[12] = cuda.ffs(8)
        o[13] = cuda.brev(np.uint32(1))
        o[14] = cuda.selp(x[0] > 1, 5.0, 6.0)

    x, o = np.array([2.0, 0.5, 3.7, 27.0]), np.zeros(15)
    f[1, 1](x, o)
    expected = [
        2**-0.5, math.exp(2), 0.5 * math.erfc(-0.5 / math.sqrt(2)), 0.11123545184094996, -4, 8, 3, 1.0, 3,
        2 * 0.5 + 3.7, 3, 31, 4, 2**31, 5,
    ]  # fmt: skip
    np.testing.assert_allclose(o, expected, rtol=1e-6)


def test_integers_are_as_on_the_device():
    @cuda.jit
    def f(x, o):
        o[0] = x[0] // x[1]
        o[1] = x[0] % x[1]
        o[2] = -x[0] // 2
        o[3] = x[2] * x[2]
        o[4] = x[3] // -1
        o[5] = x[0] / x[1]

    x = np.array([7, 0, 2**32 + 1, -(2**63)], dtype=np.int64)
    o = np.zeros(6)
    f[1, 1](x, o)  # division by zero ends neither the kernel nor the process
    assert o[2] == -4
    assert o[3] == 2**33 + 1  # wrapped
    assert math.isinf(o[5])


def test_float32_times_a_python_float_is_float64():
    @cuda.jit
    def f(x, o):
        o[0] = x[0] * 0.1
        o[1] = x[0] * float32(0.1)

    o = np.zeros(2)
    f[1, 1](np.array([3], dtype=np.float32), o)
    assert o.tolist() == [3 * 0.1, float(np.float32(3) * np.float32(0.1))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_beyond_an_integer_give_its_nearest(dtype):
    @cuda.jit
    def f(x, o, u):
        i = cuda.grid(1)
        o[i, 0], o[i, 1], o[i, 2] = np.int32(x[i]), np.uint32(x[i]), np.int64(x[i])
        o[i, 3], o[i, 4], u[i] = np.int8(x[i]), np.uint8(x[i]), np.uint64(x[i])

    x = np.array([1e20, -1e20, math.nan, -1.5, 300.7, 3e9, -math.inf], dtype)
    o, u = np.zeros((len(x), 5), np.int64), np.zeros(len(x), np.uint64)
    f[1, len(x)](x, o, u)
    nan = 0 if dtype == np.float32 else 1 << 31  # of 32 bits
    assert o.tolist() == [
        [2**31 - 1, 2**32 - 1, 2**63 - 1, -1, 255],
        [-(2**31), 0, -(2**63), 0, 0],
        [-nan, nan, -(2**63), 0, 0],
        [-1, 0, -1, -1, 0],
        [300, 300, 300, 44, 44],
        [2**31 - 1, 3 * 10**9, 3 * 10**9, -1, 0],
        [-(2**31), 0, -(2**63), 0, 0],
    ]
    assert u.tolist() == [2**64 - 1, 0, 2**63, 0, 300, 3 * 10**9, 0]


# ------------------------------------------------------------------ atomics


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
def test_atomic_arithmetic(dtype):
    @cuda.jit
    def f(o, x):
        i = cuda.grid(1)
        cuda.atomic.add(o, 0, x[i])
        cuda.atomic.sub(o, 1, x[i])
        cuda.atomic.max(o, 2, x[i])
        cuda.atomic.min(o, 3, x[i])

    x = np.random.permutation(256).astype(dtype)
    o = np.array([0, 100_000, 0, 1000], dtype=dtype)
    f[4, 64](o, x)
    assert o.tolist() == [x.sum(), 100_000 - x.sum(), 255, 0]


def test_atomics_return_the_old_value_and_take_tuples():
    @cuda.jit
    def f(o, tickets):
        tickets[cuda.grid(1)] = cuda.atomic.add(o, (1, 2), 1)

    o, tickets = np.zeros((2, 3), dtype=np.int32), np.zeros(96, dtype=np.int32)
    f[3, 32](o, tickets)
    assert o[1, 2] == 96
    assert sorted(tickets) == list(range(96))


def test_atomic_bits_exchange_and_compare_and_swap():
    @cuda.jit
    def f(o, wins):
        t = cuda.threadIdx.x
        cuda.atomic.or_(o, 0, 1 << (t % 8))
        cuda.atomic.and_(o, 1, ~(1 << (t % 4)))
        cuda.atomic.xor(o, 2, 1 << (t % 3))
        cuda.atomic.inc(o, 3, 9)
        cuda.atomic.dec(o, 4, 9)
        if cuda.atomic.cas(o, 5, 0, 77) == 0:
            cuda.atomic.add(wins, 0, 1)
        cuda.atomic.exch(o, 6, 5)

    o, wins = np.array([0, 255, 0, 0, 0, 0, 1], dtype=np.uint32), np.zeros(1, dtype=np.int32)
    f[1, 32](o, wins)
    assert o.tolist() == [255, 240, 3, 2, 8, 77, 5]
    assert wins[0] == 1


def test_a_lock_of_compare_and_swap():
    @cuda.jit
    def f(best, x):
        i = cuda.grid(1)
        old = best[0]
        while x[i] > old:
            seen = cuda.atomic.cas(best, 0, old, x[i])
            if seen == old:
                break
            old = seen

    x = np.random.permutation(128).astype(np.int32)
    best = np.zeros(1, dtype=np.int32)
    f[2, 64](best, x)
    assert best[0] == 127


# ------------------------------------------------------------------ warps

ALL = 0xFFFFFFFF


def test_shuffles():
    @cuda.jit
    def f(x, o):
        t = cuda.threadIdx.x
        v = x[t]
        o[0, t] = cuda.shfl_sync(ALL, v, 5)
        o[1, t] = cuda.shfl_up_sync(ALL, v, 3)
        o[2, t] = cuda.shfl_down_sync(ALL, v, 3)
        o[3, t] = cuda.shfl_xor_sync(ALL, v, 1)

    for dtype in (np.int32, np.int64, np.float32, np.float64):
        x = (np.arange(64) * 1.5 - 40).astype(dtype)
        o = np.zeros((4, 64), dtype=dtype)
        f[1, 64](x, o)
        t = np.arange(64)
        lane, start = t % 32, t - t % 32
        assert (o[0] == x[start + 5]).all()
        assert (o[1] == x[np.where(lane >= 3, t - 3, t)]).all()
        assert (o[2] == x[np.where(lane < 29, t + 3, t)]).all()
        assert (o[3] == x[t ^ 1]).all()


def test_sum_of_a_warp():
    @cuda.jit
    def f(x, o):
        i = cuda.grid(1)
        v = x[i]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(ALL, v, step)
        if cuda.laneid == 0:
            o[i // 32] = v

    x = np.random.rand(256)
    o = np.zeros(8)
    f[2, 128](x, o)
    np.testing.assert_allclose(o, x.reshape(8, 32).sum(1))


def test_votes_and_matches():
    @cuda.jit
    def f(x, o):
        t = cuda.threadIdx.x
        a = cuda.all_sync(ALL, x[t] >= 0)
        b = cuda.any_sync(ALL, x[t] == 3)
        c = cuda.ballot_sync(ALL, x[t] % 2 == 0)
        d = cuda.match_any_sync(ALL, x[t] % 4)
        cuda.syncwarp()
        o[t, 0], o[t, 1], o[t, 2], o[t, 3] = a, b, c, d

    x, o = np.arange(32, dtype=np.int32), np.zeros((32, 4), dtype=np.uint32)
    f[1, 32](x, o)
    assert o[:, 0].tolist() == [1] * 32 and o[:, 1].tolist() == [1] * 32
    assert set(o[:, 2].tolist()) == {0x55555555}
    assert o[:, 3].tolist() == [0x11111111 << (t % 4) for t in range(32)]


# ------------------------------------------------------------------ other kinds of numbers


def test_half_precision():
    @cuda.jit
    def f(x, o):
        i = cuda.grid(1)
        o[i] = x[i] * x[i] + x[i] / x[3] - math.sqrt(x[i])

    x = torch.arange(8, device="cuda").half()
    o = torch.zeros(8, device="cuda").half()
    f[1, 8](x, o)
    expected = x * x + x / x[3] - x.sqrt()
    torch.testing.assert_close(o, expected, rtol=2e-3, atol=2e-3)


def test_complex_numbers():
    @cuda.jit
    def f(x, o):
        i = cuda.grid(1)
        o[i] = x[i] * x[i].conjugate() + abs(x[i]) * 1j

    x = np.random.rand(16) + 1j * np.random.rand(16)
    o = np.zeros_like(x)
    f[1, 16](x, o)
    np.testing.assert_allclose(o, x * x.conj() + abs(x) * 1j)


def test_records():
    kind = np.dtype([("id", np.int32), ("mass", np.float64)], align=True)

    @cuda.jit
    def f(x):
        i = cuda.grid(1)
        x[i].mass = x[i].mass * 2 + x[i].id

    x = np.zeros(5, dtype=kind)
    x["id"], x["mass"] = np.arange(5), 1.5
    f[1, 5](x)
    assert x["mass"].tolist() == [3.0, 4.0, 5.0, 6.0, 7.0]


def test_print(capsys):
    @cuda.jit
    def f(x):
        i = cuda.grid(1)
        if i < 2:
            print("thread", i, "has", x[i])

    f[1, 4](np.array([1.5, 2.5]))
    assert capsys.readouterr().out == "thread 0 has 1.500000\nthread 1 has 2.500000\n"
