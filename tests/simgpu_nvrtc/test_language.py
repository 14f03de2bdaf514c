"""CUDA C++ as learners write it: unchanged text, a GPU's values."""

from __future__ import annotations

import pytest
import torch

from .conftest import HEAD, floats, ints


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "template <typename T> __global__ void k(T* x) { x[threadIdx.x] = T(threadIdx.x) * 2; }",
            "k<float>",
        ),
        (
            "namespace a { namespace b { __global__ void k(float* x) { x[threadIdx.x] = threadIdx.x * 2; "
            "} } }",
            "a::b::k",
        ),
        (
            "namespace a { __device__ float two(int i) { return i * 2; } }\nnamespace q = a;\n__global__ "
            "void k(float* x) { x[threadIdx.x] = q::two(threadIdx.x); }",
            "k",
        ),
        (
            'extern "C" {\n__device__ float two(int i) { return i * 2; }\n__global__ void k(float* x) '
            "{ x[threadIdx.x] = two(threadIdx.x); }\n}",
            "k",
        ),
        (
            'extern "C" __global__ void __launch_bounds__(256, 2) k(float* __restrict__ x) { '
            "x[threadIdx.x] = threadIdx.x * 2; }",
            "k",
        ),
        (
            "#define TWICE(a) \\\n  ((a) + (a))\n__global__ void k(float* x) { x[threadIdx.x] = "
            "TWICE(threadIdx.x); } // }",
            "k",
        ),
        (
            "/* extern __shared__ float s[]; int g = 3; { */\n__device__ float f(int);\n__global__ void "
            "k(float* x) { x[threadIdx.x] = f(threadIdx.x); }\n"
            "__device__ float f(int a) { return a * 2; };",
            "k",
        ),
        (
            "struct P { float a; __device__ P operator+(P o) const { return {a + o.a}; } };\n__global__ "
            "void k(float* x) { P p{float(threadIdx.x)}; x[threadIdx.x] = (p + p).a; }",
            "k",
        ),
        (
            "__global__ void k(float* x) { auto twice = [](int i) { return i * 2; }; x[threadIdx.x] = "
            "twice(threadIdx.x); }",
            "k",
        ),
        (
            "const int TWO = 2; constexpr float ONE = 1; enum { ZERO };\n__global__ void k(float* x) { "
            "x[threadIdx.x] = threadIdx.x * TWO * ONE + ZERO; }",
            "k",
        ),
        (
            "__constant__ float c[2] = {2, 2};\n__global__ void k(float* x) { x[threadIdx.x] = "
            "threadIdx.x * c[threadIdx.x % 2]; }",
            "k",
        ),
        (
            "union U { float f; struct { unsigned short lo, hi; }; };\n__global__ void k(float* x) { U "
            "u; u.f = threadIdx.x * 2; x[threadIdx.x] = u.f; }",
            "k",
        ),
        (
            "__global__ void k(float* x) { float* p = (float*)malloc(4); *p = threadIdx.x; float* q = "
            "new float[2]; q[1] = 2; x[threadIdx.x] = *p * q[1]; free(p); delete[] q; }",
            "k",
        ),
        (
            "__global__ void k(float* x) { float y[2]; float z[2] = {0, threadIdx.x * 2.0f}; memcpy(y, "
            "z, 8); memset(z, 0, 8); x[threadIdx.x] = y[1] + z[1]; }",
            "k",
        ),
        (
            "__global__ void k(float* x) { float s = 0;\n#pragma unroll\nfor (int i = 0; i < 2; i++) s "
            "+= threadIdx.x; x[threadIdx.x] = s; }",
            "k",
        ),
    ],
)
def test_twice_the_index(launch, text, name):
    x = torch.zeros(32, device="cuda")
    assert launch(text, x, name=name) == []
    assert x.tolist() == [2.0 * i for i in range(32)]


@pytest.mark.parametrize(
    ("declaration", "bytes_"),
    [
        ("__shared__ float s[64];", 0),
        ("static __shared__ float s[64];", 0),
        ("__shared__ volatile float s[64];", 0),
        ("__shared__ float tile[8][8]; float* s = &tile[0][0];", 0),
        ("extern __shared__ float s[];", 256),
        ("extern __shared__ __align__(16) char room[]; float* s = reinterpret_cast<float*>(room);", 256),
        ("extern volatile __shared__ float s[];", 256),
    ],
)
def test_shared_memory(launch, declaration, bytes_):
    x = floats(64)
    text = (
        f"(float* x) {{ {declaration} int t = threadIdx.x; s[t] = x[t]; __syncthreads(); x[t] = s[63 - t]; }}"
    )
    assert launch(text, x, block=64, shared_mem=bytes_) == []
    assert x.tolist() == [63.0 - i for i in range(64)]


def test_shared_memory_of_a_template_and_at_file_scope(launch):
    x = floats(32)
    text = (
        "template <typename T, int N> __global__ void k(T* x) { __shared__ T s[N]; s[threadIdx.x] = "
        "x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[N - 1 - threadIdx.x]; }"
    )
    assert launch(text, x, name="k<float, 32>", grid=1) == []
    assert launch(
        "(float* x) { room[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = room[31 - "
        "threadIdx.x]; }", x,
                  before="extern __shared__ float room[];\n", shared_mem=128) == []  # fmt: skip
    assert x.tolist() == [float(i) for i in range(32)]


def test_variables_of_the_file_outlive_a_launch_and_belong_to_their_module():
    text = f"__device__ int calls = 0;\n{HEAD}(int* x) {{ x[0] = ++calls; }}"
    first, second = (torch.cuda._compile_kernel(text, "k") for _ in range(2))
    x, seen = ints(n=1), []
    for kernel in (first, first, second, first):
        kernel(args=[x])
        seen.append(x.item())
    assert seen == [1, 2, 1, 3]


def test_coordinates(launch):
    x = ints(n=2 * 3 * 4 * 5)
    launch(
        "(int* x) { dim3 b = blockDim; uint3 t = threadIdx; int i = ((blockIdx.y * gridDim.x + "
        "blockIdx.x) * b.y + t.y) * b.x + t.x;"
        " x[i] = i + warpSize * (b.z - 1) + gridDim.z - 1; }",
        x,
        grid=(2, 3),
        block=(4, 5),
    )
    assert x.tolist() == list(range(120))


def test_vectors(launch):
    x, y = floats(8), torch.zeros(8, device="cuda")
    launch(
        "(const float4* x, float2* y) { float4 v = x[threadIdx.x]; y[2 * threadIdx.x] = make_float2(v.w, "
        "v.z); y[2 * threadIdx.x + 1] = {v.y, v.x}; }",
        x,
        y,
        block=2,
    )
    assert y.tolist() == [3.0, 2.0, 1.0, 0.0, 7.0, 6.0, 5.0, 4.0]


def test_votes_counts_and_matches(launch):
    x = ints(n=8)
    text = """(int* x) {
        int t = threadIdx.x;
        unsigned odd = __ballot_sync(0xffffffffu, t & 1);
        int any = __any_sync(0xffffffffu, t == 40), all = __all_sync(0xffffffffu, t < 32), agreed;
        unsigned same = __match_any_sync(0xffffffffu, t % 4),
                 every = __match_all_sync(0xffffffffu, 7, &agreed);
        int sum = __reduce_add_sync(0xffffffffu, t % 32), most = __reduce_max_sync(0xffffffffu, -t);
        int count = __syncthreads_count(t < 5), both = __syncthreads_and(t < 64),
            either = __syncthreads_or(t == 63);
        if (t == 33) { x[0] = __popc(odd); x[1] = any * 10 + all; x[2] = __popc(same);
            x[3] = agreed + __popc(every); x[4] = sum; x[5] = most; x[6] = count; x[7] = both * 10 + either; }
    }"""
    assert launch(text, x, block=64) == []
    assert x.tolist() == [16, 10, 8, 33, 496, -32, 5, 11]


def test_shuffles_of_every_width_and_type(launch):
    x, d = ints(n=32), torch.zeros(32, dtype=torch.float64, device="cuda")
    text = """(int* x, double* d) {
        int t = threadIdx.x;
        x[t] = __shfl_sync(~0u, t, 2, 8) * 10000 + __shfl_up_sync(~0u, t, 1, 4) * 100 +
            __shfl_xor_sync(~0u, t, 1);
        d[t] = __shfl_down_sync(~0u, t + 0.5, 16) + __shfl_sync(~0u, 1ll << 40, 0);
    }"""
    assert launch(text, x, d) == []
    assert x.tolist() == [
        (t // 8 * 8 + 2) * 10000 + (t if t % 4 == 0 else t - 1) * 100 + (t ^ 1) for t in range(32)
    ]
    assert d.tolist() == [(t + 16 if t < 16 else t) + 0.5 + 2**40 for t in range(32)]


def test_atomics_of_every_kind(launch):
    o, u, f = ints(*[0] * 8), torch.zeros(3, dtype=torch.int64, device="cuda"), torch.zeros(2, device="cuda")
    text = """(int* o, unsigned long long* u, float* f) {
        int t = threadIdx.x;
        atomicAdd(o, 1); atomicSub(o + 1, 2); atomicMax(o + 2, t); atomicMin(o + 3, -t);
        atomicOr(o + 4, t); atomicXor(o + 5, t);
        atomicInc((unsigned*)o + 6, 9u); atomicDec((unsigned*)o + 7, 4u);
        atomicAdd(u, 3ull); atomicMax(u + 1, (unsigned long long)t); atomicExch(u + 2, 7ull);
        atomicAdd(f, 0.5f); atomicAdd_block(f + 1, 1.0f);
    }"""
    assert launch(text, o, u, f, grid=2) == []
    assert o.tolist() == [64, -128, 31, -31, 31, 0, 4, 1]
    assert (u.tolist(), f.tolist()) == ([192, 31, 7], [32.0, 64.0])


def test_a_histogram_in_shared_memory(launch):
    x = torch.randint(0, 256, (5000,), dtype=torch.uint8).cuda()
    h = ints(n=256)
    text = """(const unsigned char* x, unsigned* h, int n) {
        __shared__ unsigned s[256];
        for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
        __syncthreads();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            atomicAdd(&s[x[i]], 1u);
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&h[i], s[i]);
    }"""
    assert launch(text, x, h, 5000, grid=3, block=128) == []
    assert torch.equal(h.cpu(), torch.bincount(x.cpu(), minlength=256).int())


def test_integers_are_a_gpus(launch):
    x, c = ints(n=8), torch.zeros(2, dtype=torch.uint8, device="cuda")
    text = """(int* x, unsigned char* c, int zero, double one) {
        float f = one;
        __shared__ int s[2][2];
        x[0] = 5 / zero; x[1] = (-2147483647 - 1) / (zero - 1); x[2] = 1 << (32 + zero); x[3] = f * 1e20f;
        x[4] = 0.0f / (f - f); int* p = x + 5; *p = -1e20f;
        s[0][1] = 3e10f; x[6] = s[0][1]; unsigned u = f * -5; x[7] = u;
        c[0] = 300.7f; c[1] = -5.f;
    }"""
    launch(text, x, c, 0, 1.0, block=1)
    assert x.tolist() == [-1, -(2**31), 0, 2**31 - 1, 0, -(2**31), 2**31 - 1, 0]
    assert c.tolist() == [44, 0]


def test_printf(launch, capfd):
    launch('(int* x) { printf("thread %d has %.2f %s\\n", threadIdx.x, 1.5f, "ok"); }', ints(n=1), block=2)
    assert capfd.readouterr().out == "thread 0 has 1.50 ok\nthread 1 has 1.50 ok\n"


def test_mathematics(launch):
    x = torch.zeros(8, device="cuda")
    text = (
        "(float* x) { float v = 0.5f; x[0] = sinf(v); x[1] = expf(v); x[2] = rsqrtf(v); x[3] = __powf(v, "
        "3); x[4] = fmaf(v, v, 1); x[5] = erff(v); x[6] = min(1, 2) + max(1.f, 2.f); x[7] = __ldg(x + "
        "6); }"
    )
    launch(text, x, block=1)
    v = torch.tensor(0.5)
    expected = [v.sin(), v.exp(), v.rsqrt(), v**3, v * v + 1, v.erf(), 3.0, 3.0]
    assert torch.allclose(x.cpu(), torch.tensor([float(e) for e in expected]), rtol=1e-6, atol=0)


def test_options():
    kernel = torch.cuda._compile_kernel(
        f"{HEAD}(int* x) {{ x[0] = N; }}", "k", nvcc_options=["-DN=5", "--use_fast_math"]
    )
    x = ints(n=1)
    kernel(args=[x])
    assert x.item() == 5


@pytest.mark.parametrize(
    ("header", "kind", "name", "dtype"),
    [
        ("cuda_fp16.h", "__half", "half", torch.float16),
        ("cuda_bf16.h", "__nv_bfloat16", "bfloat16", torch.bfloat16),
    ],
)
def test_half_types(launch, header, kind, name, dtype):
    x, y = (torch.randn(100).to(dtype).cuda() for _ in range(2))
    o, p, q = (torch.zeros_like(x) for _ in range(3))
    text = f"""(const {kind}* x, const {kind}* y, {kind}* o, {kind}* p, {kind}2* q) {{
        int i = threadIdx.x;
        o[i] = __hadd(x[i], y[i]);
        p[i] = __float2{name}(__{name}2float(x[i]) * 3.0f);
        if (i < 50) q[i] = __hmul2((({kind}2*)x)[i], (({kind}2*)y)[i]);
    }}"""
    assert launch(text, x, y, o, p, q, block=100, before=f"#include <{header}>\n") == []
    assert torch.equal(o, x + y) and torch.equal(p, (x.float() * 3).to(dtype)) and torch.equal(q, x * y)


def test_half_operators_are_off_as_pytorch_has_them():
    with pytest.raises(RuntimeError, match=r'k.cu\(2\): error: no operator "\+" matches these operands'):
        torch.cuda._compile_kernel(
            f"#include <cuda_fp16.h>\n{HEAD}(__half* x) {{ x[0] = x[0] + x[1]; }}", "k"
        )
