"""numba kernels: threads and their indices, device functions, control flow."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numba import cuda

from . import harness
from .harness import D, F, T, V

case = partial(harness.case, recorded=False)


def zeros(n, dtype=torch.float32):
    return torch.zeros(n, dtype=dtype, device=D)


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@case("numba/saxpy_for_awkward_sizes", expect={str(n): True for n in (1, 63, 64, 65, 777)})
def saxpy_for_awkward_sizes():
    right = {}
    for n in (1, 63, 64, 65, 777):
        x, y, out = F(n), F(n, 5.0), torch.full((n + 3,), -1.0, device=D)
        saxpy[(n + 63) // 64, 64](2.0, x, y, out[:n])
        right[n] = torch.equal(out, torch.cat([2 * x + y, torch.full((3,), -1.0, device=D)]))
    return right


@case(
    "numba/grid_of_three_dimensions",
    expect={
        "dt": "int64",
        "shape": [3, 2, 5],
        "v": [[[100 * i + 10 * j + k for k in range(5)] for j in range(2)] for i in range(3)],
    },
)
def grid_of_three_dimensions():
    @cuda.jit
    def kernel(out):
        i, j, k = cuda.grid(3)
        if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
            out[i, j, k] = 100 * i + 10 * j + k

    out = torch.full((3, 2, 5), -1, device=D)
    kernel[(2, 1, 3), (2, 4, 2)](out)
    return V(out)


@case("numba/sizes_of_grid_and_block", expect=[2, 3, 4, 5, 6, 1, 10, 18, 4, 1, 2, 3, 4, 5, 0])
def sizes_of_grid_and_block():
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        if x == nx - 1 and y == ny - 1 and z == nz - 1:
            out[0], out[1], out[2] = cuda.gridDim.x, cuda.gridDim.y, cuda.gridDim.z
            out[3], out[4], out[5] = cuda.blockDim.x, cuda.blockDim.y, cuda.blockDim.z
            out[6], out[7], out[8] = nx, ny, nz
            out[9], out[10], out[11] = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
            out[12], out[13], out[14] = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z

    out = zeros(15, torch.int32)
    kernel[(2, 3, 4), (5, 6)](out)
    return out.tolist()


@case("numba/grid_stride_loop", expect=[True, True, True])
def grid_stride_loop():
    @cuda.jit
    def square(x, out):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            out[i] = x[i] * x[i]

    right = []
    for shape in ((1, 32), (3, 64), (40, 128)):
        x, out = F(1000), zeros(1000)
        square[shape](x, out)
        right.append(torch.equal(out, x * x))
    return right


@case("numba/index_written_out_by_hand", expect=list(range(24)))
def index_written_out_by_hand():
    @cuda.jit
    def kernel(out):
        block = (cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x
        thread = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        i = block * cuda.blockDim.x * cuda.blockDim.y + thread
        out[i] = i

    out = torch.full((24,), -1, device=D)
    kernel[(1, 2, 2), (3, 2)](out)
    return out.tolist()


@case("numba/more_threads_than_elements_in_two_dimensions", expect=[True, [-1.0]])
def more_threads_than_elements_in_two_dimensions():
    @cuda.jit
    def add(x, y, out):
        row, column = cuda.grid(2)
        if row < out.shape[0] and column < out.shape[1]:
            out[row, column] = x[row, column] + y[row, column]

    x, y = F(35).view(5, 7), F(35, 1.0).view(5, 7)
    frame = torch.full((7, 9), -1.0, device=D)
    add[(2, 2), (4, 4)](x, y, frame[1:6, 1:8])
    border = torch.cat([frame[0], frame[6], frame[:, 0], frame[:, 8]])
    return [torch.equal(frame[1:6, 1:8], x + y), border.unique().tolist()]


@case("numba/device_functions", expect=[[-3.0, -2.0, 2.0, 3.0], [10.0, 6.0, 2.0, -2.0]])
def device_functions():
    @cuda.jit(device=True)
    def clamp(v, low, high):
        return low if v < low else (high if v > high else v)

    @cuda.jit(device=True)
    def both(v):
        return clamp(v, -3.0, 3.0), 4.0 - v

    @cuda.jit
    def kernel(x, a, b):
        i = cuda.grid(1)
        if i < x.size:
            a[i], b[i] = both(x[i])

    a, b = zeros(4), zeros(4)
    kernel[1, 4](F(4) * 4 - 6, a, b)
    return [a.tolist(), b.tolist()]


@case("numba/recursion_of_a_device_function", expect=[1, 1, 2, 6, 24, 120])
def recursion_of_a_device_function():
    @cuda.jit("int64(int64)", device=True)
    def factorial(n):
        if n < 2:
            return 1
        return n * factorial(n - 1)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = factorial(i)

    out = zeros(6, torch.int64)
    kernel[1, 8](out)
    return out.tolist()


@case("numba/closures_and_constant_tables", expect=[20.0, 21.5, 23.0, 20.0, 21.5])
def closures_and_constant_tables():
    scale, table = 10, np.array([1.0, 1.15, 1.3])

    @cuda.jit
    def kernel(out):
        values = cuda.const.array_like(table)
        i = cuda.grid(1)
        if i < out.size:
            out[i] = values[i % 3] * scale + 10

    out = zeros(5, torch.float64)
    kernel[1, 8](out)
    return out.tolist()


@case("numba/loops_branches_and_early_returns", expect=[0, 1, 7, 2, 5, 8, 16, 3, 19, 6])
def loops_branches_and_early_returns():
    @cuda.jit
    def collatz(out):
        i = cuda.grid(1)
        if i >= out.size:
            return
        n, steps = i + 1, 0
        while True:
            if n == 1:
                break
            if n % 2:
                n = 3 * n + 1
                steps += 1
                continue
            n //= 2
            steps += 1
        out[i] = steps

    out = torch.full((10,), -1, dtype=torch.int32, device=D)
    collatz[3, 4](out)
    return out.tolist()


@case("numba/ranges_and_enumerations", expect=[21, 9, 321, 11, 18])
def ranges_and_enumerations():
    @cuda.jit
    def kernel(x, out):
        for i in range(3, 12, 4):
            out[0] += i
        for i in range(5, 0, -2):
            out[1] += i
        for place, digit in enumerate((1, 2, 3)):
            out[2] += digit * 10**place
        for _ in range(-2):
            out[3] = 99
        for a, b in zip((1, 2), (3, 4)):  # noqa: B905  (numba knows no strict=)
            out[3] += a * b
        for v in x:
            out[4] += v

    out = zeros(5, torch.int64)
    kernel[1, 1](T([3, 6, 9]), out)
    return out.tolist()


@case("numba/conditional_expressions_and_chained_comparisons", expect=[0, 1, 2, 2, 3])
def conditional_expressions_and_chained_comparisons():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = 0 if x[i] < 0 else 1 if 0 <= x[i] < 1 else 2 if not x[i] > 5 else 3

    out = zeros(5, torch.int32)
    kernel[1, 8](T([-1.0, 0.5, 1.0, 5.0, 6.0]), out)
    return out.tolist()
