"""How fast the simulated jiterator is, against its targets: `python -m tests.bench.bench_jiterator`.

Each ratio is of times measured alternately in this run, so a busy machine slows both sides.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

from grader import simgpu

from .measure import Table, alternate, many, median_difference

GELU = """template <typename T> T gelu_add(T x, T y) {
    return T(0.5) * x * (T(1) + tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x))) + y;
}"""
_FIRST = f"""
import time, torch
from grader import simgpu
simgpu.activate()
f = torch.cuda.jiterator._create_jit_fn({GELU!r})
x = torch.ones(8, device="cuda")
start = time.perf_counter()
f(x, x)
print(time.perf_counter() - start)
"""


def first_call(folder: str) -> float:
    """Seconds of the first call of a kernel in a new process that caches in `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", _FIRST],
        env={**os.environ, "PYTORCH_KERNEL_CACHE_PATH": folder},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def main() -> int:
    simgpu.activate("sim")
    torch.set_num_threads(2)
    table = Table("The simulated jiterator")

    firsts, cached = [], []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            firsts.append(first_call(folder))
            cached.append(first_call(folder))
    table.row("first call ever: runtime and kernel compiled", min(firsts), "s", 0.5)
    table.row("first call in a process, kernel on disk", min(cached) * 1e3, "ms", 5)

    kernel = torch.cuda.jiterator._create_jit_fn(GELU)
    hx, hy = torch.randn(4_000_000), torch.randn(4_000_000)
    x, y = hx.cuda(), hy.cuda()
    ours, theirs = alternate(lambda: kernel(x, y), lambda: F.gelu(hx, approximate="tanh") + hy)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(f"    4M gelu_tanh(x)+y: simulated {min(ours) * 1e3:.1f} ms, CPU {min(theirs) * 1e3:.1f} ms")
    table.row("4M float32 gelu_tanh(x)+y, over F.gelu + add on CPU tensors", ratio, "times", 2)

    add = torch.cuda.jiterator._create_jit_fn("template <typename T> T add(T a, T b) { return a + b; }")
    hs = torch.ones(8)
    s = hs.cuda()

    ours, theirs = alternate(many(lambda: add(s, s), 2000), many(lambda: hs + hs, 2000), rounds=7)
    extra = median_difference(ours, theirs) / 2000
    table.row("one small launch, over one small CPU op", extra * 1e6, "us", 40)

    start = time.perf_counter()
    stamp = time.time_ns()
    edited = torch.cuda.jiterator._create_jit_fn(
        f"template <typename T> T edited(T x, T y) {{ return x * T({stamp % 97}) + y; /* {stamp} */ }}"
    )
    from grader.simgpu import jiterator

    dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
              torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]  # fmt: skip
    jiterator.precompile(edited, dtypes, inputs=2)
    table.row("an edited kernel compiled anew for 12 dtypes", time.perf_counter() - start, "s", 2)
    return 0 if table.all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
