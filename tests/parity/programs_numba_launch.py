"""numba kernels: the forms of a launch, scalar arguments, streams and events of numba itself."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import torch
from numba import cuda

from . import harness
from .harness import D
from .racing import numba_stream

case = partial(harness.case, recorded=False)


def zeros(n, dtype=torch.float32):
    return torch.zeros(n, dtype=dtype, device=D)


@cuda.jit
def count_up(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@case("numba/many_ways_to_launch", expect=[1, 2, 3, 4, 5, 6, 7])
def many_ways_to_launch():
    x, seen = zeros(8, torch.int64), []
    configured = count_up[2, 4]
    for go in (
        count_up[2, 4],
        count_up[(2,), (4, 1)],
        count_up[1, (8, 1, 1)],
        configured,
        configured,
        count_up.forall(8),
        count_up[2, 4, numba_stream(), 0],
    ):
        go(x)
        seen.append(x.unique().item())
    return seen


@case("numba/scalar_arguments", expect=[3.5, 2.0, 1.0, 0.25, 7.0, -1.0, 4.0, 1e300])
def scalar_arguments():
    @cuda.jit
    def kernel(out, a, b, c, d, e, f, g, h):
        out[0] = a / 2
        out[1] = b
        out[2] = c
        out[3] = d
        out[4] = e
        out[5] = f
        out[6] = g.imag
        out[7] = h

    out = zeros(8, torch.float64)
    kernel[1, 1](out, 7, 2.0, True, np.float32(0.25), np.int64(7), np.int8(-1), 3 + 4j, 1e300)
    return out.tolist()


@case("numba/a_large_int_stays_whole", expect=[2**40 + 1, -(2**62)])
def a_large_int_stays_whole():
    @cuda.jit
    def kernel(out, a, b):
        out[0] = a + 1
        out[1] = b

    out = zeros(2, torch.int64)
    kernel[1, 1](out, 2**40, -(2**62))
    return out.tolist()


@case("numba/launched_from_a_thread", expect=[4.0] * 8)
def launched_from_a_thread():
    x = zeros(8)
    threads = [threading.Thread(target=lambda: count_up[1, 8](x)) for _ in range(4)]
    for thread in threads:
        thread.start()
        thread.join()
    return x.tolist()


@case("numba/queues_of_its_own", expect=[True, True, True, [2.0, 3.0, 4.0], "Stream", "Event"])
def queues_of_its_own():
    stream, before, after = cuda.stream(), cuda.event(), cuda.event()
    d = cuda.to_device(np.arange(3, dtype=np.float32), stream=stream)
    before.record(stream)
    count_up[1, 4, stream](d)
    count_up[1, 4, stream](d)
    after.record(stream)
    after.wait(stream)
    stream.synchronize()
    milliseconds = cuda.event_elapsed_time(before, after)
    host = d.copy_to_host(stream=stream)
    stream.synchronize()
    queries = [before.query(), after.query(), milliseconds >= 0]
    return [*queries, host.tolist(), type(stream).__name__, type(after).__name__]


@case("numba/synchronised_at_the_end_of_a_block", expect=[1.0, 2.0])
def synchronised_at_the_end_of_a_block():
    stream = cuda.stream()
    with stream.auto_synchronize():
        d = cuda.to_device(np.zeros(2, dtype=np.float32), stream=stream)
        count_up[1, 2, stream](d)
        count_up[1, 1, stream](d[1:])
        host = d.copy_to_host(stream=stream)
    return host.tolist()


@case("numba/options_of_jit", expect=[1.0, 2.0, 3.0])
def options_of_jit():
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    x, seen = zeros(1), []
    for options in ({"fastmath": True}, {"opt": True}, {"lineinfo": True}):
        cuda.jit(**options)(add_one)[1, 32](x)
        seen.append(x.item())
    return seen


@case("numba/functions_imported_from_the_module", expect=[0.0, 1.0, 2.0, 3.0])
def functions_imported_from_the_module():
    from numba.cuda import grid, jit, syncthreads

    @jit
    def kernel(x):
        i = grid(1)
        syncthreads()
        if i < x.size:
            x[i] = i

    x = zeros(4)
    kernel[2, 2](x)
    return x.tolist()
