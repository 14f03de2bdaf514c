"""The program of bench_numba.py, for the simulated GPU and for numba's own simulator.

`python -m tests.bench.numba_program 5000 10000` prints what `seconds` says of so many threads, as JSON.
numba's simulator finds `cuda` among a kernel's globals only: so it is imported here at the top.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import cuda, float32

BLOCK = 256


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def block_sum(x, out):
    shared = cuda.shared.array(BLOCK, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = shared[0]


def launches(n: int) -> dict[str, Callable[[], None]]:
    """Name -> one launch over n float32 elements. "check" is to be called after the others."""
    blocks = -(-n // BLOCK)
    host = np.random.default_rng(0).random(n, dtype=np.float32)
    x, y = cuda.to_device(host), cuda.to_device(2 * host)
    out, sums = cuda.device_array(n, np.float32), cuda.device_array(blocks, np.float32)

    def launch_add() -> None:
        add[blocks, BLOCK](x, y, out)
        cuda.synchronize()

    def launch_sum() -> None:
        block_sum[blocks, BLOCK](x, sums)
        cuda.synchronize()

    def check() -> None:
        assert np.array_equal(out.copy_to_host(), host + 2 * host)
        assert np.allclose(sums.copy_to_host().sum(), host.sum(dtype=np.float64), rtol=1e-4)

    return {"add": launch_add, "block sum": launch_sum, "check": check}


def seconds(n: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Name -> wall-clock seconds of the first launch, and the least processor time of `rounds` launches in
    seconds, which a busy machine lengthens little."""
    found = launches(n)
    check = found.pop("check")
    times = {}
    for name, launch in found.items():
        start, used = time.perf_counter(), []
        for i in range(rounds):
            before = time.process_time()
            launch()
            used.append(time.process_time() - before)
            if i == 0:
                first = time.perf_counter() - start
        times[name] = first, min(used)
    check()
    return times


if __name__ == "__main__":
    print(json.dumps([seconds(int(n), 1) for n in sys.argv[1:]]))
