"""How fast run-time CUDA C++ is on the simulated GPU: `python -m tests.bench.bench_cuda_cpp`.

Every access is checked and raced against the others; seconds are those of the thread, which a busy machine
lengthens little.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

import pytest
import torch

from grader import simgpu

from .measure import Table

ADD = """extern "C" __global__ void add(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}"""
BLOCK_SUM = """extern "C" __global__ void block_sum(const float* x, float* out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}"""


def best(call: Callable[[], object], rounds: int = 7) -> float:
    """The least seconds of this thread in `call`."""
    call()
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times)


def compiling(text: str, name: str) -> float:
    """Wall-clock seconds of one `_compile_kernel`."""
    start = time.perf_counter()
    torch.cuda._compile_kernel(text, name)
    return time.perf_counter() - start


def main() -> int:
    simgpu.activate("sim")
    table = Table("Run-time CUDA C++ on the simulated GPU")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTORCH_KERNEL_CACHE_PATH", folder)
        torch.cuda._compile_kernel(ADD, "add")  # the runtime is there
        fresh = [compiling(f"{BLOCK_SUM} // {i}", "block_sum") for i in range(5)]
        table.row("compile a kernel", min(fresh), "s", 0.5)
        again = [compiling(f"{BLOCK_SUM} // 0", "block_sum") for _ in range(5)]
        table.row("the same text again", min(again) * 1e3, "ms", 5)

        n = 1_000_000
        a, out = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
        add = torch.cuda._compile_kernel(ADD, "add")
        seconds = best(lambda: add((3907, 1, 1), (256, 1, 1), [a, a, out, n]))
        table.row("add, 10^6 threads, bounds and races checked", seconds * 1e3, "ms", 100)

        sums = torch.empty(391, device="cuda")
        block_sum = torch.cuda._compile_kernel(BLOCK_SUM, "block_sum")
        seconds = best(lambda: block_sum((391, 1, 1), (256, 1, 1), [a, sums, 100_000]))
        table.row("block sum with barriers, 10^5 threads, likewise", seconds * 1e3, "ms", 60)
    return 0 if table.all_ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
