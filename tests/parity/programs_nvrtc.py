"""CUDA C++ compiled at run time: grids, memory, barriers, the language."""

from __future__ import annotations

from functools import partial

import torch

from . import harness
from .harness import D, F, T, V
from .racing import compiled, launch

case = partial(harness.case, recorded=False)


def zeros(n, dtype=torch.float32):
    return torch.zeros(n, dtype=dtype, device=D)


@case("nvrtc/saxpy", expect=[True, True, True, [-1.0]])
def saxpy():
    kernel = compiled("""
    extern "C" __global__ void k(const float* x, const float* y, float* out, double a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = (float)a * x[i] + y[i];
    }""")
    right, rest = [], torch.full((2000,), -1.0, device=D)
    for n in (1, 255, 1025):
        x, y = F(n), F(n, 3.0)
        launch(kernel, (n + 255) // 256, 256, x, y, rest[:n], 2.5, n)
        right.append(torch.equal(rest[:n], 2.5 * x + y))
    return [*right, rest[1025:].unique().tolist()]


@case("nvrtc/grid_of_three_dimensions", expect=[[2, 3, 4, 5, 6, 1], True])
def grid_of_three_dimensions():
    kernel = compiled("""
    extern "C" __global__ void k(int* sizes, int* out) {
        int x = blockIdx.x * blockDim.x + threadIdx.x;
        int y = blockIdx.y * blockDim.y + threadIdx.y;
        int z = blockIdx.z * blockDim.z + threadIdx.z;
        int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
        out[(z * height + y) * width + x] = 10000 * z + 100 * y + x;
        if (x + y + z == 0) {
            sizes[0] = gridDim.x; sizes[1] = gridDim.y; sizes[2] = gridDim.z;
            sizes[3] = blockDim.x; sizes[4] = blockDim.y; sizes[5] = blockDim.z;
        }
    }""")
    sizes, out = zeros(6, torch.int32), torch.full((4, 18, 10), -1, dtype=torch.int32, device=D)
    launch(kernel, (2, 3, 4), (5, 6), sizes, out)
    z, y, x = (torch.arange(n, device=D) for n in out.shape)
    right = 10000 * z[:, None, None] + 100 * y[None, :, None] + x[None, None, :]
    return [sizes.tolist(), torch.equal(out.long(), right)]


@case("nvrtc/grid_stride_loop", expect=[True, True])
def grid_stride_loop():
    kernel = compiled("""
    extern "C" __global__ void k(float* x, int n) {
        int first = blockIdx.x * blockDim.x + threadIdx.x;
        for (int i = first; i < n; i += gridDim.x * blockDim.x) x[i] = x[i] * x[i];
    }""")
    right = []
    for grid in (1, 7):
        x = F(1000)
        launch(kernel, grid, 64, x, 1000)
        right.append(torch.equal(x, F(1000) ** 2))
    return right


_INTEGERS = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
}


@case(
    "nvrtc/each_dtype",
    expect={
        **{dt: {"dt": dt, "shape": [3], "v": [3, 5, 201]} for dt in _INTEGERS},
        "int8": {"dt": "int8", "shape": [3], "v": [3, 5, -55]},
        **{dt: {"dt": dt, "shape": [3], "v": [3.0, 5.0, 201.0]} for dt in ("float32", "float64")},
    },
)
def each_dtype():
    out = {}
    for dt, name in {**_INTEGERS, "float32": "float", "float64": "double"}.items():
        kernel = compiled(f"""
        extern "C" __global__ void k(const {name}* x, {name}* y) {{
            y[threadIdx.x] = 2 * x[threadIdx.x] + 1;
        }}""")
        x = T([1, 2, 100]).to(getattr(torch, dt))
        y = torch.zeros_like(x)
        launch(kernel, 1, 3, x, y)
        out[dt] = V(y)
    return out


@case("nvrtc/shared_memory_of_fixed_size", expect=[[7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]])
def shared_memory_of_fixed_size():
    kernel = compiled("""
    extern "C" __global__ void k(int* x) {
        __shared__ int tile[8];
        int t = threadIdx.x, i = blockIdx.x * 8 + t;
        tile[t] = x[i];
        __syncthreads();
        x[i] = tile[7 - t];
    }""")
    x = torch.arange(16, dtype=torch.int32, device=D)
    launch(kernel, 2, 8, x)
    return [x.tolist()]


@case("nvrtc/shared_memory_sized_at_the_launch", expect=[[0, 0, 1, 1, 3, 1], [0, 0, 1, 1, 3, 1, 6, 1, 10, 1]])
def shared_memory_sized_at_the_launch():
    kernel = compiled("""
    extern "C" __global__ void k(int* out, int n) {
        extern __shared__ unsigned char raw[];
        int* sums = (int*)raw;
        short* ones = (short*)(raw + n * sizeof(int));
        int t = threadIdx.x;
        sums[t] = 0;
        ones[t] = t > 0;
        __syncthreads();
        for (int i = 0; i <= t; ++i) sums[t] += i * ones[i];
        __syncthreads();
        out[2 * t] = sums[t];
        out[2 * t + 1] = ones[t];
    }""")
    seen = []
    for n in (3, 5):
        out = zeros(2 * n, torch.int32)
        launch(kernel, 1, n, out, n, shared_mem=n * 6)
        seen.append(out.tolist())
    return seen


@case("nvrtc/sum_by_halves_and_across_blocks", expect=[499500.0, True])
def sum_by_halves_and_across_blocks():
    kernel = compiled("""
    extern "C" __global__ void k(const float* x, float* total, int n) {
        __shared__ float part[128];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        part[t] = i < n ? x[i] : 0.f;
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
            __syncthreads();
            if (t < half) part[t] += part[t + half];
        }
        if (t == 0) atomicAdd(total, part[0]);
    }""")
    x, total = F(1000), zeros(1)
    launch(kernel, 8, 128, x, total, 1000)
    return [total.item(), total.item() == x.sum().item()]


@case("nvrtc/transpose_through_shared_memory", expect=True)
def transpose_through_shared_memory():
    kernel = compiled("""
    #define TILE 8
    extern "C" __global__ void k(const float* x, float* y, int rows, int columns) {
        __shared__ float tile[TILE][TILE + 1];
        int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
        if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
        __syncthreads();
        c = blockIdx.y * TILE + threadIdx.x;
        r = blockIdx.x * TILE + threadIdx.y;
        if (r < columns && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
    }""")
    x, y = F(19 * 11).view(19, 11), torch.zeros(11, 19, device=D)
    launch(kernel, (2, 3), (8, 8), x, y, 19, 11)
    return torch.equal(y, x.t())


@case("nvrtc/barriers_that_count", expect=[[6, 0, 1], [6, 1, 1], [6, 0, 0]])
def barriers_that_count():
    kernel = compiled("""
    extern "C" __global__ void k(const int* x, int* out) {
        int mine = x[blockIdx.x * 64 + threadIdx.x];
        int n = __syncthreads_count(threadIdx.x < 6);
        int every = __syncthreads_and(mine), some = __syncthreads_or(mine);
        if (threadIdx.x == 63) {
            int* o = out + 3 * blockIdx.x;
            o[0] = n; o[1] = every != 0; o[2] = some != 0;
        }
    }""")
    x, out = torch.zeros(3, 64, dtype=torch.int32, device=D), torch.zeros(3, 3, dtype=torch.int32, device=D)
    x[0, 50], x[1] = 1, 2
    launch(kernel, 3, 64, x, out)
    return out.tolist()


@case("nvrtc/constant_and_global_variables", expect=[[10.0, 20.0, 30.0], [1, 2, 3]])
def constant_and_global_variables():
    kernel = compiled("""
    __constant__ float table[3] = {10.f, 20.f, 30.f};
    __device__ int calls = 0;
    extern "C" __global__ void k(float* x, int* seen) {
        x[threadIdx.x] = table[threadIdx.x];
        if (threadIdx.x == 0) *seen = ++calls;
    }""")
    x, seen = zeros(3), zeros(3, torch.int32)
    for i in range(3):
        launch(kernel, 1, 3, x, seen[i:])
    return [x.tolist(), seen.tolist()]


@case("nvrtc/templates_structs_and_lambdas", expect=[[25.0, 4.0, 2.0, 12.0], [7, 8]])
def templates_structs_and_lambdas():
    kernel = compiled("""
    template <typename T> __device__ T square(T v) { return v * v; }
    template <int N> struct Power {
        __device__ static float of(float v) { return v * Power<N - 1>::of(v); }
    };
    template <> struct Power<0> { __device__ static float of(float) { return 1.f; } };
    struct Pair {
        float a, b;
        __device__ float sum() const { return a + b; }
        __device__ Pair operator*(float s) const { return {a * s, b * s}; }
    };
    namespace inner { __device__ constexpr int seven() { return 7; } }
    extern "C" __global__ void k(float* x, int* n) {
        x[0] = square(5.f);
        x[1] = Power<2>::of(2.f);
        auto half = [](float v) { return v / 2; };
        x[2] = half(4.f);
        x[3] = (Pair{1.f, 3.f} * 3.f).sum();
        n[0] = inner::seven();
        n[1] = square(2) + square(2);
    }""")
    x, n = zeros(4), zeros(2, torch.int32)
    launch(kernel, 1, 1, x, n)
    return [x.tolist(), n.tolist()]


@case("nvrtc/two_kernels_in_one_source", expect=[3.0, 6.0, 36.0])
def two_kernels_in_one_source():
    source = """
    __device__ float twice(float v) { return v + v; }
    extern "C" __global__ void first(float* x) { *x = twice(*x); }
    extern "C" __global__ void second(float* x) { *x = *x * *x; }
    """
    x = torch.full((1,), 3.0, device=D)
    seen = [x.item()]
    for name in ("first", "second"):
        launch(compiled(source, name), 1, 1, x)
        seen.append(x.item())
    return seen


@case("nvrtc/the_preprocessor", expect=[1, 1, 9, 0, 12])
def the_preprocessor():
    kernel = compiled("""
    #define SQUARE(v) ((v) * (v))
    #ifdef __CUDACC_RTC__
    #define RTC 1
    #else
    #define RTC 0
    #endif
    extern "C" __global__ void k(int* o) {
        o[0] = RTC;
    #if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 300
        o[1] = 1;
    #endif
        o[2] = SQUARE(1 + 2);
    #ifdef NOT_DEFINED
        o[3] = 5;
    #endif
        o[4] = __LINE__ > 0 ? sizeof(long long) + sizeof(int) : 0;
    }""")
    o = zeros(5, torch.int32)
    launch(kernel, 1, 1, o)
    return o.tolist()


@case(
    "nvrtc/a_view_is_a_pointer_to_its_first_element",
    expect=[[3.0, 4.0, 5.0], [1.0, 2.0, 3.0], [0.0, 1.0, 2.0]],
)
def a_view_is_a_pointer_to_its_first_element():
    kernel = compiled(
        'extern "C" __global__ void k(const float* x, float* o) { o[threadIdx.x] = x[threadIdx.x]; }'
    )
    seen = []
    for view in (F(6)[3:], F(8)[1::2], F(6).view(2, 3).t()):
        out = zeros(3)
        launch(kernel, 1, 3, view, out)
        seen.append(out.tolist())
    return seen
