"""Kernels of the kinds that learners write, against NumPy."""

import math

import numpy as np
import pytest
import torch
from numba import cuda, float32, float64, int32

D = "cuda"


def blocks(n, size=128):
    return (n + size - 1) // size


@pytest.fixture(autouse=True)
def _nothing_found(findings):
    yield
    assert [f.text for f in findings] == []


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 127, 128, 129, 1000, 2**16 + 1])
def test_elementwise_add(n):
    @cuda.jit
    def add(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    a, b = torch.rand(n, device=D), torch.rand(n, device=D)
    c = torch.full((n,), math.nan, device=D)
    add[max(blocks(n), 1), 128](a, b, c)
    assert torch.equal(c, a + b)


def test_grid_stride_loop():
    @cuda.jit
    def saxpy(a, x, y):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            y[i] += a * x[i]

    x, y = np.random.rand(10_007), np.random.rand(10_007)
    expected = y + 3.0 * x
    saxpy[7, 96](3.0, x, y)
    np.testing.assert_allclose(y, expected, rtol=1e-15)


def test_two_dimensions_and_grid_2():
    @cuda.jit
    def outer(x, y, o):
        i, j = cuda.grid(2)
        if i < o.shape[0] and j < o.shape[1]:
            o[i, j] = x[i] * y[j] + cuda.gridsize(2)[0]

    x, y = np.arange(37.0), np.arange(53.0)
    o = np.zeros((37, 53))
    outer[(5, 7), (8, 8)](x, y, o)
    np.testing.assert_array_equal(o, np.outer(x, y) + 40)


def test_three_dimensions():
    @cuda.jit
    def index(o):
        i, j, k = cuda.grid(3)
        if i < o.shape[0] and j < o.shape[1] and k < o.shape[2]:
            o[i, j, k] = i * 100 + j * 10 + k

    o = np.zeros((5, 6, 7), dtype=np.int32)
    index[(3, 3, 4), (2, 2, 2)](o)
    i, j, k = np.indices(o.shape)
    np.testing.assert_array_equal(o, i * 100 + j * 10 + k)


def test_coordinates_of_every_kind():
    @cuda.jit
    def where(o):
        i = cuda.grid(1)
        o[i, 0] = cuda.threadIdx.x
        o[i, 1] = cuda.blockIdx.x
        o[i, 2] = cuda.blockDim.x
        o[i, 3] = cuda.gridDim.x
        o[i, 4] = cuda.laneid
        o[i, 5] = cuda.warpsize

    o = np.zeros((120, 6), dtype=np.int64)
    where[3, 40](o)
    i = np.arange(120)
    expected = np.stack([i % 40, i // 40, 0 * i + 40, 0 * i + 3, i % 40 % 32, 0 * i + 32], axis=1)
    np.testing.assert_array_equal(o, expected)


def test_stencil_with_shared_memory():
    @cuda.jit
    def blur(x, o):
        s = cuda.shared.array(66, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t + 1] = x[i] if i < x.size else 0
        if t == 0:
            s[0] = x[i - 1] if i > 0 else 0
        if t == 63:
            s[65] = x[i + 1] if i + 1 < x.size else 0
        cuda.syncthreads()
        if i < x.size:
            o[i] = s[t] + 2 * s[t + 1] + s[t + 2]

    x = torch.rand(1000, device=D)
    o = torch.zeros(1000, device=D)
    blur[blocks(1000, 64), 64](x, o)
    p = torch.nn.functional.pad(x, (1, 1))
    torch.testing.assert_close(o, p[:-2] + 2 * x + p[2:])


def test_block_sum_by_halving():
    @cuda.jit
    def block_sum(x, o):
        s = cuda.shared.array(256, float64)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = x[i] if i < x.size else 0.0
        cuda.syncthreads()
        half = cuda.blockDim.x // 2
        while half > 0:
            if t < half:
                s[t] += s[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            o[cuda.blockIdx.x] = s[0]

    x = np.random.rand(5000)
    o = np.zeros(blocks(5000, 256))
    block_sum[blocks(5000, 256), 256](x, o)
    np.testing.assert_allclose(o, np.pad(x, (0, 120)).reshape(-1, 256).sum(1), rtol=1e-13)


def test_scan_within_a_block():
    @cuda.jit
    def scan(x, o):
        a = cuda.shared.array(128, int32)
        b = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        a[t] = x[t]
        cuda.syncthreads()
        step = 1
        while step < 128:
            b[t] = a[t] + (a[t - step] if t >= step else 0)
            cuda.syncthreads()
            a[t] = b[t]
            cuda.syncthreads()
            step *= 2
        o[t] = a[t]

    x = np.random.randint(-50, 50, 128).astype(np.int32)
    o = np.zeros_like(x)
    scan[1, 128](x, o)
    np.testing.assert_array_equal(o, np.cumsum(x))


def test_histogram_with_shared_and_global_atomics():
    @cuda.jit
    def histogram(x, bins):
        mine = cuda.shared.array(16, int32)
        t = cuda.threadIdx.x
        if t < 16:
            mine[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(mine, x[i], 1)
        cuda.syncthreads()
        if t < 16:
            cuda.atomic.add(bins, t, mine[t])

    x = np.random.randint(0, 16, 5000).astype(np.int32)
    bins = np.zeros(16, dtype=np.int32)
    histogram[4, 64](x, bins)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=16))


def test_transpose_through_a_tile():
    @cuda.jit
    def transpose(x, o):
        tile = cuda.shared.array((16, 17), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row, col = cuda.blockIdx.y * 16 + ty, cuda.blockIdx.x * 16 + tx
        if row < x.shape[0] and col < x.shape[1]:
            tile[ty, tx] = x[row, col]
        cuda.syncthreads()
        row, col = cuda.blockIdx.x * 16 + ty, cuda.blockIdx.y * 16 + tx
        if row < o.shape[0] and col < o.shape[1]:
            o[row, col] = tile[tx, ty]

    x = torch.rand(50, 70, device=D)
    o = torch.zeros(70, 50, device=D)
    transpose[(5, 4), (16, 16)](x, o)
    assert torch.equal(o, x.t())


def test_matrix_product():
    @cuda.jit
    def product(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    a, b, c = np.random.rand(20, 30), np.random.rand(30, 25), np.zeros((20, 25))
    product[(3, 4), (8, 8)](a, b, c)
    np.testing.assert_allclose(c, a @ b)


def test_mandelbrot_with_while_and_break():
    @cuda.jit(device=True)
    def steps(c, most):
        z = 0j
        n = 0
        while True:
            if n == most:
                break
            z = z * z + c
            if z.real * z.real + z.imag * z.imag > 4:
                break
            n += 1
        return n

    @cuda.jit
    def draw(o, low, high):
        i, j = cuda.grid(2)
        if i < o.shape[0] and j < o.shape[1]:
            o[i, j] = steps(complex(low + (high - low) * j / o.shape[1], -1 + 2 * i / o.shape[0]), 50)

    def host(c):
        z, n = 0j, 0
        while n < 50:
            z = z * z + c
            if z.real * z.real + z.imag * z.imag > 4:
                break
            n += 1
        return n

    o = np.zeros((24, 32), dtype=np.int32)
    draw[(3, 4), (8, 8)](o, -2.0, 1.0)
    expected = [[host(complex(-2 + 3 * j / 32, -1 + 2 * i / 24)) for j in range(32)] for i in range(24)]
    assert (o == np.array(expected)).mean() > 0.99  # a multiply-add may be fused


def test_device_functions_closures_and_names_from_the_module():
    from numba.cuda import grid, syncthreads

    factor = 3

    @cuda.jit(device=True)
    def square(v):
        return v * v

    @cuda.jit("float32(float32)", device=True)
    def typed(v):
        return v + 1

    @cuda.jit
    def f(x):
        i = grid(1)
        syncthreads()
        x[i] = typed(square(x[i])) * factor

    x = torch.arange(64.0, device=D)
    expected = (x * x + 1) * 3
    f[2, 32](x)
    assert torch.equal(x, expected)


def test_local_arrays_slices_and_loops_over_arrays():
    @cuda.jit
    def middle(x, o):
        i = cuda.grid(1)
        row = x[i]
        own = cuda.local.array(5, float64)
        for k in range(5):
            own[k] = row[k]
        for _ in range(5):
            for b in range(4):
                if own[b] > own[b + 1]:
                    own[b], own[b + 1] = own[b + 1], own[b]
        total = 0.0
        for v in row[1:3]:
            total += v
        o[i, 0] = own[2]
        o[i, 1] = total

    x = np.random.rand(40, 5)
    o = np.zeros((40, 2))
    middle[1, 40](x, o)
    np.testing.assert_array_equal(o[:, 0], np.median(x, axis=1))
    np.testing.assert_allclose(o[:, 1], x[:, 1] + x[:, 2])


def test_dynamic_shared_memory():
    @cuda.jit
    def reverse(x):
        s = cuda.shared.array(0, int32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        x[t] = s[s.size - 1 - t]

    x = np.arange(48, dtype=np.int32)
    reverse[1, 48, 0, 48 * 4](x)
    np.testing.assert_array_equal(x, np.arange(48)[::-1])


def test_barriers_that_count():
    @cuda.jit
    def count(x, o):
        t = cuda.threadIdx.x
        a = cuda.syncthreads_count(x[t])
        b = cuda.syncthreads_and(x[t])
        c = cuda.syncthreads_or(x[t])
        if t == 0:
            o[0], o[1], o[2] = a, b, c

    for x, expected in (([1] * 40, [40, 1, 1]), ([0] * 40, [0, 0, 0]), ([0] * 39 + [7], [1, 0, 1])):
        o = np.zeros(3, dtype=np.int32)
        count[1, 40](np.array(x, dtype=np.int32), o)
        assert o.tolist()[0] == expected[0]
        assert [bool(v) for v in o[1:]] == [bool(v) for v in expected[1:]]


def test_forall_and_reduce():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    x = torch.arange(1000.0, device=D)
    double.forall(1000)(x)
    assert torch.equal(x, torch.arange(1000.0, device=D) * 2)
    total = cuda.reduce(lambda a, b: a + b)
    assert total(np.arange(5000.0)) == np.arange(5000.0).sum()


def test_sync_of_the_whole_grid():
    @cuda.jit
    def mirror(x, o):
        i = cuda.grid(1)
        x[i] = i
        cuda.cg.this_grid().sync()
        o[i] = x[x.size - 1 - i]

    x, o = np.zeros(256, dtype=np.int32), np.zeros(256, dtype=np.int32)
    mirror[4, 64](x, o)
    np.testing.assert_array_equal(o, np.arange(256)[::-1])


def test_last_block_done():
    @cuda.jit
    def total(x, parts, count, o):
        s = cuda.shared.array(64, float64)
        last = cuda.shared.array(1, int32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = x[i]
        cuda.syncthreads()
        if t == 0:
            sum_ = 0.0
            for k in range(64):
                sum_ += s[k]
            parts[cuda.blockIdx.x] = sum_
            cuda.threadfence()
            last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
        cuda.syncthreads()
        if last[0] and t == 0:
            sum_ = 0.0
            for k in range(cuda.gridDim.x):
                sum_ += parts[k]
            o[0] = sum_

    x = np.random.rand(640)
    parts, count, o = np.zeros(10), np.zeros(1, dtype=np.int32), np.zeros(1)
    total[10, 64](x, parts, count, o)
    np.testing.assert_allclose(o[0], x.sum())
