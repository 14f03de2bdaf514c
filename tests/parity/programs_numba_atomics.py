"""numba kernels: atomics, shuffles and votes of a warp."""

from __future__ import annotations

from functools import partial

import torch
from numba import cuda, int32

from . import harness
from .harness import D, T

case = partial(harness.case, recorded=False)


def ints(*values):
    return torch.tensor(values, dtype=torch.int32, device=D)


@case("numba-atomics/atomic_add_of_each_dtype", expect=[1000, 1000, 500.0, 250.0, 1000])
def atomic_add_of_each_dtype():
    @cuda.jit
    def kernel(a, b, c, d, e):
        cuda.atomic.add(a, 0, 1)
        cuda.atomic.add(b, 0, 1)
        cuda.atomic.add(c, 0, 0.5)
        cuda.atomic.add(d, (0, 1), 0.25)
        cuda.atomic.add(e, 2, 1)

    a, b, c = T([0], "int32"), T([0], "int64"), T([0.0], "float32")
    d, e = T([[0.0, 0.0]], "float64"), T([0, 0, 0], "int64")
    kernel[10, 100](a, b, c, d, e)
    return [a.item(), b.item(), c.item(), d[0, 1].item(), e[2].item()]


@case("numba-atomics/atomics_return_the_old_value", expect=[True, 64, [0, 2, 4, 6]])
def atomics_return_the_old_value():
    @cuda.jit
    def kernel(counter, seen, once):
        seen[cuda.atomic.add(counter, 0, 1)] = 1
        if cuda.grid(1) == 0:
            for i in range(4):
                once[i] = cuda.atomic.add(counter, 1, 2)

    counter, seen = ints(0, 0), torch.zeros(64, dtype=torch.int32, device=D)
    once = torch.zeros(4, dtype=torch.int32, device=D)
    kernel[2, 32](counter, seen, once)
    return [bool((seen == 1).all()), counter[0].item(), once.tolist()]


@case("numba-atomics/other_atomics", expect=[-500, 99, 0, 7, [6, 0, 5]])
def other_atomics():
    @cuda.jit
    def kernel(o, swapped):
        i = cuda.grid(1)
        cuda.atomic.sub(o, 0, 5)
        cuda.atomic.max(o, 1, i)
        cuda.atomic.min(o, 2, i)
        cuda.atomic.exch(o, 3, 7)
        if i == 0:
            swapped[1] = cuda.atomic.compare_and_swap(swapped, 0, 5)
            swapped[2] = cuda.atomic.compare_and_swap(swapped, 5, 6)

    o, swapped = ints(0, 0, 10**6, 0), ints(0, -1, -1)
    kernel[10, 10](o, swapped)
    return [*o.tolist(), swapped.tolist()]


@case("numba-atomics/a_lock_taken_once", expect=[4, [1, 1, 1, 1]])
def a_lock_taken_once():
    @cuda.jit
    def kernel(locks, winners):
        i = cuda.grid(1)
        if cuda.atomic.cas(locks, i % 4, 0, 1) == 0:
            cuda.atomic.add(winners, 0, 1)

    locks, winners = ints(0, 0, 0, 0), ints(0)
    kernel[3, 100](locks, winners)
    return [winners.item(), locks.tolist()]


@case("numba-atomics/histogram", expect=True)
def histogram():
    @cuda.jit
    def kernel(x, bins):
        mine = cuda.shared.array(16, int32)
        t = cuda.threadIdx.x
        if t < 16:
            mine[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(mine, x[i] % 16, 1)
        cuda.syncthreads()
        if t < 16:
            cuda.atomic.add(bins, t, mine[t])

    x, bins = torch.arange(5000, device=D) ** 2, torch.zeros(16, dtype=torch.int32, device=D)
    kernel[4, 64](x, bins)
    return torch.equal(bins.long(), torch.bincount(x % 16, minlength=16))


@case("numba-atomics/shuffles_in_a_warp", expect=[[496] * 2, [5, 31, 0], [31, 0]])
def shuffles_in_a_warp():
    @cuda.jit
    def kernel(sums, moved, lanes):
        t = cuda.threadIdx.x
        lane = cuda.laneid
        v = lane
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
        five = cuda.shfl_sync(0xFFFFFFFF, lane, 5)
        down = cuda.shfl_down_sync(0xFFFFFFFF, lane, 1)
        up = cuda.shfl_up_sync(0xFFFFFFFF, lane, 1)
        if lane == 0:
            sums[t // 32] = v
        if t == 33:
            moved[0] = five
        if t == 30:
            moved[1] = down
        if t == 1:
            moved[2] = up
        if t == 63:
            lanes[0] = lane
            lanes[1] = t % 32 - lane

    sums, moved, lanes = ints(0, 0), ints(-1, -1, -1), ints(-1, -1)
    kernel[1, 64](sums, moved, lanes)
    return [sums.tolist(), moved.tolist(), lanes.tolist()]


@case("numba-atomics/votes_and_bit_counts", expect=[0xAAAA, 16, 1, 0, 1, 4, 28, 3])
def votes_and_bit_counts():
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        odd = cuda.ballot_sync(0xFFFFFFFF, t % 2 == 1 and t < 16)
        some = cuda.any_sync(0xFFFFFFFF, t == 7)
        every = cuda.all_sync(0xFFFFFFFF, t == 7)
        full = cuda.all_sync(0xFFFFFFFF, t >= 0)
        cuda.syncwarp()
        if t == 0:
            out[0] = odd
            out[1] = cuda.warpsize // 2
            out[2] = 1 if some else 0
            out[3] = 1 if every else 0
            out[4] = 1 if full else 0
            out[5] = cuda.popc(0b101101)
            out[6] = cuda.clz(int32(8))
            out[7] = cuda.ffs(int32(12))

    out = torch.zeros(8, dtype=torch.int64, device=D)
    kernel[1, 32](out)
    return out.tolist()
