"""Kernels from the textbooks: right values, and nothing found in them."""

from __future__ import annotations

import torch

from .conftest import floats, ints

MATRIX_PRODUCT = """(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (K + 15) / 16; t++) {
        int i = t * 16 + threadIdx.x, j = t * 16 + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < M && i < K ? A[row * K + i] : 0;
        b[threadIdx.y][threadIdx.x] = j < K && col < N ? B[j * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}"""

SCAN = """(const float* x, float* o, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, in = 1, out = 0;
    s[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        out = 1 - out; in = 1 - in;
        float v = s[in * blockDim.x + t];
        s[out * blockDim.x + t] = t >= d ? v + s[in * blockDim.x + t - d] : v;
        __syncthreads();
    }
    if (t < n) o[t] = s[out * blockDim.x + t];
}"""

SOFTMAX = """(const float* x, float* o, int n) {
    __shared__ float part[32], whole;
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const float* row = x + blockIdx.x * n;
    float m = -1e30f, s = 0;
    for (int i = t; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    if (lane == 0) part[warp] = m;
    __syncthreads();
    if (warp == 0) {
        float v = lane < blockDim.x / 32 ? part[lane] : -1e30f;
        for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, d));
        if (lane == 0) whole = v;
    }
    __syncthreads();
    m = whole;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) s += expf(row[i] - m);
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffff, s, d);
    if (lane == 0) part[warp] = s;
    __syncthreads();
    if (t == 0) { whole = 0; for (int i = 0; i < blockDim.x / 32; i++) whole += part[i]; }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) o[blockIdx.x * n + i] = expf(row[i] - m) / whole;
}"""

COMPACTION = """(const int* x, int* out, int* found, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 50) {
        unsigned lanes = __activemask();
        int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1, base;
        if (lane == leader) base = atomicAdd(found, __popc(lanes));
        base = __shfl_sync(lanes, base, leader);
        out[base + __popc(lanes & ((1u << lane) - 1))] = x[i];
    }
}"""

LOCK = """(int* lock, int* count) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        *count += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}"""

# From the days when the lanes of a warp ran in step: today they need not.
SUM_WITHOUT_WARP_BARRIERS = """(float* x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    if (t < 32) {
        volatile float* v = s;
        v[t] += v[t + 32]; BARRIER v[t] += v[t + 16]; BARRIER v[t] += v[t + 8]; BARRIER
        v[t] += v[t + 4]; BARRIER v[t] += v[t + 2]; BARRIER v[t] += v[t + 1];
    }
    if (t == 0) x[0] = s[0];
}"""


def test_matrix_product(launch):
    a, b, c = torch.randn(50, 70), torch.randn(70, 40), torch.zeros(50, 40, device="cuda")
    assert launch(MATRIX_PRODUCT, a.cuda(), b.cuda(), c, 50, 70, 40, grid=(3, 4), block=(16, 16)) == []
    assert torch.allclose(c.cpu(), a @ b, atol=1e-4)


def test_scan(launch):
    x, o = torch.randn(500), torch.zeros(500, device="cuda")
    assert launch(SCAN, x.cuda(), o, 500, block=512, shared_mem=4096) == []
    assert torch.allclose(o.cpu(), x.cumsum(0), atol=1e-3)


def test_softmax(launch):
    x, o = torch.randn(7, 200), torch.zeros(7, 200, device="cuda")
    assert launch(SOFTMAX, x.cuda(), o, 200, grid=7, block=128) == []
    assert torch.allclose(o.cpu(), x.softmax(1), atol=1e-6)


def test_compaction(launch):
    x, out, found = torch.randint(0, 100, (1000,), dtype=torch.int32), ints(n=1000), ints(n=1)
    assert launch(COMPACTION, x.cuda(), out, found, 1000, grid=8, block=128) == []
    kept = x[x > 50]
    assert found.item() == len(kept)
    assert torch.equal(out.cpu()[: len(kept)].sort().values, kept.sort().values)


def test_lock(launch):
    lock, count = ints(n=1), ints(n=1)
    assert launch(LOCK, lock, count, grid=20) == []
    assert count.item() == 20


def test_lanes_out_of_step(launch):
    x = floats(1)
    barrier = "__syncwarp();"
    loads_first = SUM_WITHOUT_WARP_BARRIERS.replace("BARRIER", "")
    assert {f.kind for f in launch(loads_first, x, block=64)} == {"race"}
    # one barrier after each step is not enough: lane 16 writes what lane 0 reads in the same step
    assert {f.kind for f in launch(SUM_WITHOUT_WARP_BARRIERS.replace("BARRIER", barrier), x, block=64)} == {
        "race"
    }
    careful = SUM_WITHOUT_WARP_BARRIERS.replace("volatile float* v = s;", "float w;")
    for d in (32, 16, 8, 4, 2, 1):
        careful = careful.replace(f"v[t] += v[t + {d}];", f"w = s[t + {d}] + s[t]; __syncwarp(); s[t] = w;")
    assert launch(careful.replace("BARRIER", barrier).replace("s[64]", "s[96]"), x, block=64) == []
    assert x.item() == 64
