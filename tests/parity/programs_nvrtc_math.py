"""CUDA C++ compiled at run time: arithmetic, vector types, atomics, warps."""

from __future__ import annotations

import math
from functools import partial

import torch

from . import harness
from .harness import D, F, T
from .racing import compiled, launch

case = partial(harness.case, recorded=False)


def zeros(n, dtype=torch.float32):
    return torch.zeros(n, dtype=dtype, device=D)


@case("nvrtc/float4_moves_four_at_once", expect=[True, [-1.0]])
def float4_moves_four_at_once():
    kernel = compiled("""
    extern "C" __global__ void k(const float4* x, float4* y, int quads) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < quads) {
            float4 v = x[i];
            v.x += 1; v.y += 2; v.z += 3; v.w += 4;
            y[i] = v;
        }
    }""")
    x, y = F(1000), torch.full((1004,), -1.0, device=D)
    launch(kernel, 2, 128, x, y, 250)
    return [torch.equal(y[:1000], x + T([1.0, 2.0, 3.0, 4.0]).repeat(250)), y[1000:].unique().tolist()]


@case("nvrtc/float2_as_complex_numbers", expect=[[-5.0, 10.0], [10.0, 5.0]])
def float2_as_complex_numbers():
    kernel = compiled("""
    __device__ float2 times(float2 a, float2 b) {
        return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    }
    extern "C" __global__ void k(const float2* z, float2* o) {
        o[0] = times(z[0], z[1]);
        o[1] = times(z[1], make_float2(2.f, -1.f));
    }""")
    out = torch.zeros(2, dtype=torch.complex64, device=D)
    launch(kernel, 1, 1, T([1 + 2j, 3 + 4j], "complex64"), out)
    return [[z.real, z.imag] for z in out.tolist()]


@case("nvrtc/other_vector_types", expect=[[16, 8, 16, 16, 12, 4], [9, 21, 40, 5]])
def other_vector_types():
    kernel = compiled("""
    extern "C" __global__ void k(const int* x, int* sizes, int* o) {
        sizes[0] = sizeof(int4); sizes[1] = sizeof(int2); sizes[2] = sizeof(double2);
        sizes[3] = alignof(float4); sizes[4] = sizeof(float3); sizes[5] = sizeof(uchar4);
        int4 v = *reinterpret_cast<const int4*>(x);
        int2 w = make_int2(v.y, v.w);
        o[0] = v.x + v.z;
        o[1] = w.x + w.y;
        uchar4 c = make_uchar4(250, 20, 10, 5);
        c.x += 10;
        o[2] = c.x + c.y + c.z + c.w + 1;
        dim3 d(2, 3);
        o[3] = d.x + d.y * d.z;
    }""")
    sizes, o = zeros(6, torch.int32), zeros(4, torch.int32)
    launch(kernel, 1, 1, T([4, 10, 5, 11], "int32"), sizes, o)
    return [sizes.tolist(), o.tolist()]


@case(
    "nvrtc/conversions_of_floats_to_integers", expect=[2, -2, 2147483647, -2147483648, 0, 2147483647, 0, 3, 4]
)
def conversions_of_floats_to_integers():
    kernel = compiled("""
    extern "C" __global__ void k(const float* x, int* o) {
        for (int i = 0; i < 6; ++i) o[i] = (int)x[i];
        o[6] = (int)(unsigned)x[1];
        o[7] = __float2int_rd(x[6]);
        o[8] = __float2int_ru(x[6]);
    }""")
    o = zeros(9, torch.int32)
    launch(kernel, 1, 1, T([2.9, -2.9, 3e10, -3e10, math.nan, math.inf, 3.5]), o)
    return o.tolist()


@case("nvrtc/integers", expect=[-3, -1, 3, 1, -2147483648, 255, -1, 4294967295, 8])
def integers():
    kernel = compiled("""
    extern "C" __global__ void k(const int* x, long long* o) {
        o[0] = x[0] / x[1];
        o[1] = x[0] % x[1];
        o[2] = -x[0] / x[1];
        o[3] = -x[0] % x[1];
        o[4] = (int)((unsigned)x[2] + 1u);
        o[5] = (unsigned char)x[3];
        o[6] = x[3] >> 4;
        o[7] = (unsigned)x[3];
        o[8] = __mulhi(1 << 20, 1 << 15);
    }""")
    o = zeros(9, torch.int64)
    launch(kernel, 1, 1, T([-7, 2, 2**31 - 1, -1], "int32"), o)
    return o.tolist()


_X = [0.5, 1.25, 2.0, 3.75]
_FUNCTIONS = {
    "sinf": math.sin,
    "cosf": math.cos,
    "expf": math.exp,
    "logf": math.log,
    "sqrtf": math.sqrt,
    "rsqrtf": lambda v: 1 / math.sqrt(v),
    "tanhf": math.tanh,
    "erff": math.erf,
    "atanf": math.atan,
    "log2f": math.log2,
    "exp2f": lambda v: 2.0**v,
    "cbrtf": lambda v: v ** (1 / 3),
    "lgammaf": lambda v: math.lgamma(v + 1),
}


@case(
    "nvrtc/math_in_float32",
    expect={n: torch.tensor([f(v) for v in _X]).tolist() for n, f in _FUNCTIONS.items()},
)
def math_in_float32():
    out = {}
    for name in _FUNCTIONS:
        source = (
            'extern "C" __global__ void k(const float* x, float* y) { y[threadIdx.x] = f(x[threadIdx.x]); }'
        )
        call = "lgammaf(v + 1.f)" if name == "lgammaf" else f"{name}(v)"
        kernel = compiled(f"__device__ float f(float v) {{ return {call}; }}\n{source}")
        y = zeros(4)
        launch(kernel, 1, 4, T(_X), y)
        out[name] = y.tolist()
    return out


@case(
    "nvrtc/exact_functions_of_floats",
    expect=[-3.0, -2.0, -2.0, -3.0, 1.5, -2.5, 1.0, 1.0, -7.0, 2.0, 0.75, 13.0, "nan", 5.0],
)
def exact_functions_of_floats():
    kernel = compiled("""
    extern "C" __global__ void k(const float* x, float* o) {
        float a = x[0], nan = x[1];
        o[0] = floorf(a); o[1] = ceilf(a); o[2] = rintf(a); o[3] = roundf(a);
        o[4] = fmodf(5.5f, 2.f); o[5] = copysignf(2.5f, a); o[6] = fminf(nan, 1.f); o[7] = fmaxf(1.f, nan);
        o[8] = fabsf(a) - 9.5f; o[9] = -truncf(a); o[10] = ldexpf(3.f, -2); o[11] = fmaf(3.f, 4.f, 1.f);
        o[12] = sqrtf(a); o[13] = hypotf(3.f, 4.f);
    }""")
    o = zeros(14)
    launch(kernel, 1, 1, T([-2.5, math.nan]), o)
    return o.tolist()


@case("nvrtc/bits_of_floats_and_integers", expect=[1065353216, -1073741824, 0, 1, 4, 27, 31, 5, 1])
def bits_of_floats_and_integers():
    kernel = compiled("""
    extern "C" __global__ void k(const float* x, int* o) {
        o[0] = __float_as_int(x[0]);
        o[1] = __float_as_int(x[1]);
        o[2] = __float_as_int(0.f * x[0]);
        o[3] = __int_as_float(1065353216) == x[0];
        o[4] = __popc(0x1b);
        o[5] = __clz(0x1b);
        o[6] = __clz(1);
        o[7] = __ffs(0x10);
        o[8] = __brev(1u) == 0x80000000u;
    }""")
    o = zeros(9, torch.int32)
    launch(kernel, 1, 1, T([1.0, -2.0]), o)
    return o.tolist()


@case("nvrtc/atomics_of_each_kind", expect=[[640, 319, -319, 31, 0, 77, 6, 6], [160.0, 80.0], 640])
def atomics_of_each_kind():
    kernel = compiled("""
    extern "C" __global__ void k(int* o, float* f, double* d, unsigned long long* u) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        atomicAdd(o, 2); atomicMax(o + 1, i); atomicMin(o + 2, -i); atomicOr(o + 3, 1 << (i % 5));
        atomicAnd(o + 4, i); atomicExch(o + 5, 77);
        atomicInc((unsigned*)(o + 6), 6u); atomicDec((unsigned*)(o + 7), 6u);
        atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(u, 2ull);
    }""")
    o, f, d, u = (
        T([0, -9, 9, 0, -1, 0, 1, 4], "int32"),
        zeros(1),
        zeros(1, torch.float64),
        zeros(1, torch.int64),
    )
    launch(kernel, 5, 64, o, f, d, u)
    return [o.tolist(), [f.item(), d.item()], u.item()]


@case("nvrtc/a_sum_of_doubles_by_compare_and_swap", expect=[128.0, 64, [1] * 4])
def a_sum_of_doubles_by_compare_and_swap():
    kernel = compiled("""
    extern "C" __global__ void k(double* sum, int* tickets, int* once) {
        unsigned long long* p = (unsigned long long*)sum;
        unsigned long long old = *p, seen;
        do {
            seen = old;
            old = atomicCAS(p, seen, __double_as_longlong(__longlong_as_double(seen) + 2.0));
        } while (old != seen);
        int mine = atomicAdd(tickets, 1);
        if (mine % 16 == 0) once[mine / 16] += 1;
    }""")
    total, tickets, once = zeros(1, torch.float64), zeros(1, torch.int32), zeros(4, torch.int32)
    launch(kernel, 2, 32, total, tickets, once)
    return [total.item(), tickets.item(), once.tolist()]


@case("nvrtc/shuffles", expect=[[496] * 32, [28] * 8, [31, 5, 0, 9], [1, 2, 3, 3, 5, 6, 7, 7]])
def shuffles():
    kernel = compiled("""
    extern "C" __global__ void k(int* all, int* eight, int* some, int* down) {
        const unsigned every = 0xffffffffu;
        int lane = threadIdx.x % 32, v = lane, w = lane;
        for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(every, v, d);
        for (int d = 4; d > 0; d /= 2) w += __shfl_xor_sync(every, w, d, 8);
        all[lane] = v;
        int from5 = __shfl_sync(every, lane, 5), wrapped = __shfl_sync(every, lane, 33 + 8);
        int up = __shfl_up_sync(every, lane, 3), next = __shfl_down_sync(every, lane, 1, 4);
        int last = __shfl_down_sync(every, lane, 1);
        if (lane < 8) { eight[lane] = w; down[lane] = next; }
        if (lane == 31) { some[0] = last; some[1] = from5; some[3] = wrapped; }
        if (lane == 3) some[2] = up;
    }""")
    outs = [zeros(n, torch.int32) for n in (32, 8, 4, 8)]
    launch(kernel, 1, 32, *outs)
    return [o.tolist() for o in outs]


@case("nvrtc/votes_of_a_warp", expect=[0x000000FF, 1, 0, 1, 0, 32, 0x0000FFFF])
def votes_of_a_warp():
    kernel = compiled("""
    extern "C" __global__ void k(long long* o) {
        const unsigned every = 0xffffffffu;
        int t = threadIdx.x;
        unsigned low = __ballot_sync(every, t < 8);
        int some = __any_sync(every, t == 3), none = __any_sync(every, t > 99);
        int each = __all_sync(every, t >= 0), few = __all_sync(every, t > 0);
        unsigned same = __match_any_sync(every, t / 16);
        __syncwarp();
        if (t == 0) {
            o[0] = low; o[1] = some != 0; o[2] = none != 0; o[3] = each != 0; o[4] = few != 0;
            o[5] = warpSize; o[6] = same;
        }
    }""")
    o = zeros(7, torch.int64)
    launch(kernel, 1, 32, o)
    return o.tolist()
