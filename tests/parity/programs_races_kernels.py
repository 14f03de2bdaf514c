"""Orderings left out around kernels of one's own, threads, gradients and buffers."""

from __future__ import annotations

import threading
from functools import partial

import torch
from numba import cuda

from . import harness
from .harness import J
from .racing import N, compiled, current, full, launch, nap, numba_stream, on, ready, settled, sync, values

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


@pair("races/jitted_kernel_reads_too_early", racy=[1.0], mended=[37.0])
def jitted_kernel_reads_too_early(mended):
    f, s = J("template <typename T> T f(T x) { return x * x + T(1); }"), torch.cuda.Stream()

    def run():
        (a,) = ready(0.0)
        with on(s):
            nap()
            a.fill_(6)
        if mended:
            current().wait_stream(s)
        b = f(a)
        sync()
        return values(b)

    return settled(run)


@pair("races/compiled_kernel_overwrites_too_early", racy=[-1.0], mended=[5.0])
def compiled_kernel_overwrites_too_early(mended):
    kernel = compiled("""
    extern "C" __global__ void k(float* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] = -1;
    }""")
    s = torch.cuda.Stream()

    def run():
        a, o = ready(5.0, 0.0)
        nap()
        o.copy_(a)
        if mended:
            s.wait_stream(current())
        with on(s):
            launch(kernel, N // 256, 256, a, N)
        sync()
        return values(o)

    return settled(run)


@pair("races/numba_kernel_left_on_the_default_stream", racy=[1.0], mended=[8.0])
def numba_kernel_left_on_the_default_stream(mended):
    @cuda.jit
    def add_one(x, o):
        i = cuda.grid(1)
        if i < x.size:
            o[i] = x[i] + 1

    s = torch.cuda.Stream()

    def run():
        a, o = ready(0.0, 0.0)
        x, out = cuda.as_cuda_array(a), cuda.as_cuda_array(o)
        with on(s):
            nap()
            a.fill_(7)
            add_one[N // 256, 256, numba_stream() if mended else 0](x, out)
        sync()
        return values(o)

    return settled(run)


@pair("races/two_threads", racy=[0.0], mended=[2.0])
def two_threads(mended):
    s = torch.cuda.Stream()

    def run():
        a, o = ready(0.0, -1.0)
        box = []

        def produce():
            with on(s):
                nap()
                a.fill_(2)
                box.append(s.record_event())

        thread = threading.Thread(target=produce)
        thread.start()
        thread.join()
        if mended:
            current().wait_event(box[0])
        o.copy_(a)
        sync()
        return values(o)

    return settled(run)


@pair("races/gradient_read_on_another_stream", racy=[0.0], mended=[6.0])
def gradient_read_on_another_stream(mended):
    s = torch.cuda.Stream()

    def run():
        x, o = full(1.0).requires_grad_(), full(-1.0)
        x.grad = full(0.0)
        sync()
        with on(s):
            y = (x * 6).sum()
            nap()
            y.backward()
        if mended:
            current().wait_stream(s)
        o.copy_(x.grad)
        sync()
        return values(o)

    return settled(run)


@pair("races/one_buffer_between_two_streams", racy=[[2.0], [2.0]], mended=[[1.0], [2.0]])
def one_buffer_between_two_streams(mended):
    up, work = torch.cuda.Stream(), torch.cuda.Stream()

    def run():
        first, second, buffer, a, b = ready(1.0, 2.0, 0.0, 0.0, 0.0)
        for source, out in ((first, a), (second, b)):
            with on(up):
                if mended:
                    up.wait_stream(work)
                buffer.copy_(source)
            work.wait_stream(up)
            with on(work):
                if out is a:
                    nap()
                out.copy_(buffer)
        sync()
        return [values(a), values(b)]

    return settled(run)
