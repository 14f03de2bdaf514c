"""What PyTorch's own sanitizer of streams (torch.cuda._sanitizer) sees of a missing wait, and what not."""

from __future__ import annotations

from functools import partial

import torch
from numba import cuda

from . import harness
from .harness import E, J
from .racing import N, current, full, numba_stream, on, sync

case = partial(harness.case, recorded=False)


def sanitized(run):
    """What `run(wait)` raises without the wait and with it, under the sanitizer."""
    from torch.cuda import _sanitizer

    _sanitizer.enable_cuda_sanitizer()
    found = []
    for wait in (False, True):
        found.append(E(run, wait).get("exc"))
        sync()
    return found


@case("races/sanitizer_on_eager_operations", expect=["CUDASanitizerErrors", None], alone=True)
def sanitizer_on_eager_operations():
    def run(wait):
        a, s = full(1.0), torch.cuda.Stream()
        if wait:
            s.wait_stream(current())
        with on(s):
            a.mul_(5)

    return sanitized(run)


@case("races/sanitizer_on_the_result_of_a_jitted_kernel", expect=["CUDASanitizerErrors", None], alone=True)
def sanitizer_on_the_result_of_a_jitted_kernel():
    f = J("template <typename T> T f(T x) { return x + T(1); }")

    def run(wait):
        a, s = full(1.0), torch.cuda.Stream()
        sync()
        with on(s):
            b = f(a)
            b.add_(1)
        if wait:
            current().wait_stream(s)
        b.mul_(2)

    return sanitized(run)


@case("races/sanitizer_on_a_numba_kernel", expect=[None, None], alone=True)
def sanitizer_on_a_numba_kernel():
    @cuda.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    def run(wait):
        a, s = full(1.0), torch.cuda.Stream()
        x = cuda.as_cuda_array(a)
        if wait:
            s.wait_stream(current())
        with on(s):
            add_one[N // 256, 256, numba_stream()](x)

    return sanitized(run)
