"""numba kernels: shared and local memory, barriers."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numba import cuda, float32, int32, int64

from . import harness
from .harness import D, F

case = partial(harness.case, recorded=False)


@case("numba-shared/reversed_within_each_block", expect=[3.0, 2.0, 1.0, 0.0, 7.0, 6.0, 5.0, 4.0, 9.0, 8.0])
def reversed_within_each_block():
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(4, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        size = min(cuda.blockDim.x, x.size - cuda.blockIdx.x * cuda.blockDim.x)
        if i < x.size:
            tile[t] = x[i]
        cuda.syncthreads()
        if i < x.size:
            out[i] = tile[size - 1 - t]

    x, out = F(10), torch.zeros(10, device=D)
    kernel[3, 4](x, out)
    return out.tolist()


@case("numba-shared/sum_of_a_block_by_halves", expect=[[2016.0, 6112.0, 10208.0, 1167.0], True])
def sum_of_a_block_by_halves():
    @cuda.jit
    def block_sums(x, out):
        tile = cuda.shared.array(64, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        tile[t] = x[i] if i < x.size else 0.0
        cuda.syncthreads()
        half = cuda.blockDim.x // 2
        while half > 0:
            if t < half:
                tile[t] += tile[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[cuda.blockIdx.x] = tile[0]

    x, out = F(198), torch.zeros(4, device=D)
    block_sums[4, 64](x, out)
    return [out.tolist(), out.sum().item() == x.sum().item()]


@case("numba-shared/prefix_sums", expect=[True])
def prefix_sums():
    @cuda.jit
    def scan(x):
        tile = cuda.shared.array((2, 128), int64)
        t, now, step = cuda.threadIdx.x, 0, 1
        tile[now, t] = x[t]
        cuda.syncthreads()
        while step < cuda.blockDim.x:
            v = tile[now, t]
            if t >= step:
                v += tile[now, t - step]
            now = 1 - now
            tile[now, t] = v
            cuda.syncthreads()
            step *= 2
        x[t] = tile[now, t]

    x = torch.arange(128, device=D) % 7
    right = x.cumsum(0)
    scan[1, 128](x)
    return [torch.equal(x, right)]


@case("numba-shared/transpose_through_a_padded_tile", expect=True)
def transpose_through_a_padded_tile():
    @cuda.jit
    def transpose(x, out):
        tile = cuda.shared.array((8, 9), float32)
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            tile[cuda.threadIdx.x, cuda.threadIdx.y] = x[i, j]
        cuda.syncthreads()
        row = cuda.blockIdx.y * 8 + cuda.threadIdx.x
        column = cuda.blockIdx.x * 8 + cuda.threadIdx.y
        if row < out.shape[0] and column < out.shape[1]:
            out[row, column] = tile[cuda.threadIdx.y, cuda.threadIdx.x]

    x, out = F(20 * 13).view(20, 13), torch.zeros(13, 20, device=D)
    transpose[(3, 2), (8, 8)](x, out)
    return torch.equal(out, x.t())


@case("numba-shared/product_of_matrices_by_tiles", expect=True)
def product_of_matrices_by_tiles():
    @cuda.jit
    def product(a, b, c):
        ta, tb = cuda.shared.array((4, 4), float32), cuda.shared.array((4, 4), float32)
        i, j = cuda.grid(2)
        ti, tj = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for k in range(0, a.shape[1], 4):
            ta[ti, tj] = a[i, k + tj] if i < a.shape[0] and k + tj < a.shape[1] else 0
            tb[ti, tj] = b[k + ti, j] if k + ti < b.shape[0] and j < b.shape[1] else 0
            cuda.syncthreads()
            for m in range(4):
                total += ta[ti, m] * tb[m, tj]
            cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] = total

    a, b, c = F(5 * 6).view(5, 6), F(6 * 7).view(6, 7), torch.zeros(5, 7, device=D)
    product[(2, 2), (4, 4)](a, b, c)
    return torch.equal(c.cpu(), a.cpu() @ b.cpu())


@case("numba-shared/size_given_at_the_launch", expect=[[6, 6, 6, 6], [28] * 8])
def size_given_at_the_launch():
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(0, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncthreads()
        total = 0
        for i in range(cuda.blockDim.x):
            total += tile[i]
        out[t] = total

    sums = []
    for n in (4, 8):
        out = torch.zeros(n, dtype=torch.int32, device=D)
        kernel[1, n, 0, 4 * n](out)
        sums.append(out.tolist())
    return sums


@case("numba-shared/each_block_has_its_own", expect=[0, 10, 20, 30])
def each_block_has_its_own():
    @cuda.jit
    def kernel(out):
        box = cuda.shared.array(1, int32)
        if cuda.threadIdx.x == 0:
            box[0] = 10 * cuda.blockIdx.x
        cuda.syncthreads()
        if cuda.threadIdx.x == 31:
            out[cuda.blockIdx.x] = box[0]

    out = torch.full((4,), -1, dtype=torch.int32, device=D)
    kernel[4, 32](out)
    return out.tolist()


@case("numba-shared/local_arrays", expect=[[0, 1, 4, 9], [0, 3, 8, 15]])
def local_arrays():
    @cuda.jit
    def kernel(first, second):
        mine = cuda.local.array((2, 4), int64)
        t = cuda.threadIdx.x
        for i in range(4):
            mine[0, i] = t * i
            mine[1, i] = (t + 2) * i
        first[t] = mine[0, t]
        second[t] = mine[1, t]

    first, second = torch.zeros(4, dtype=torch.int64, device=D), torch.zeros(4, dtype=torch.int64, device=D)
    kernel[1, 4](first, second)
    return [first.tolist(), second.tolist()]


@case("numba-shared/barriers_that_count", expect=[[5, 5, 5], [0, 1, 1], [0, 0, 1]])
def barriers_that_count():
    @cuda.jit
    def kernel(x, count, either, all_of_them):
        t, row = cuda.threadIdx.x, cuda.blockIdx.x
        n = cuda.syncthreads_count(1 if t < 5 else 0)
        some = cuda.syncthreads_or(x[row, t])
        every = cuda.syncthreads_and(x[row, t])
        if t == 0:
            count[row] = n
            either[row] = 1 if some else 0
            all_of_them[row] = 1 if every else 0

    x = torch.zeros(3, 64, dtype=torch.int32, device=D)
    x[1, 40], x[2] = 3, 1
    outs = [torch.full((3,), -1, dtype=torch.int32, device=D) for _ in range(3)]
    kernel[3, 64](x, *outs)
    return [o.tolist() for o in outs]


@case("numba-shared/types_written_as_words_or_numpys", expect=[[1.5, 3.0], [2, 3]])
def types_written_as_words_or_numpys():
    @cuda.jit
    def kernel(x, n):
        a, b = cuda.shared.array(2, dtype=np.float64), cuda.local.array(2, np.int16)
        t = cuda.threadIdx.x
        a[t] = 1.5 * (t + 1)
        b[t] = t + 2
        cuda.syncthreads()
        x[t] = a[t]
        n[t] = b[t]

    x, n = torch.zeros(2, dtype=torch.float64, device=D), torch.zeros(2, dtype=torch.int64, device=D)
    kernel[1, 2](x, n)
    return [x.tolist(), n.tolist()]
