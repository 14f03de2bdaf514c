"""numba's streams and events beside PyTorch's; what kernels read and write, counted."""

import math

import numpy as np
import pytest
import torch
from numba import cuda

from grader import simgpu

D = "cuda"
N = 4096


@pytest.fixture
def inc():
    @cuda.jit
    def inc(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    inc[1, 1](torch.zeros(1, device=D))
    torch.cuda.synchronize()
    return inc


def kinds(findings):
    return sorted({f.kind for f in findings})


def test_a_kernel_on_a_side_stream_is_waited_for_or_not(inc, findings):
    for fixed in (False, True):
        x, o, s = torch.zeros(N, device=D), torch.zeros(N, device=D), torch.cuda.Stream()
        torch.cuda.synchronize()
        inc[N // 128, 128, cuda.external_stream(s.cuda_stream)](x)
        if fixed:
            torch.cuda.current_stream().wait_stream(s)
        o.copy_(x)
        torch.cuda.synchronize()
        assert o.unique().tolist() == [float(fixed)]
        assert x.unique().tolist() == [1]
    assert kinds(findings) == ["read_before_write"]


def test_a_kernel_reads_what_its_stream_may_see(inc, findings):
    for fixed in (False, True):
        x, s, t = torch.zeros(N, device=D), torch.cuda.Stream(), torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(s):
            x.fill_(5)
        if fixed:
            t.wait_stream(s)
        inc[N // 128, 128, cuda.external_stream(t.cuda_stream)](cuda.as_cuda_array(x))
        torch.cuda.synchronize()
        assert (x.unique().tolist() == [6]) == fixed
        assert bool(findings) == (not fixed)
        findings.clear()


def test_what_is_only_read_is_no_conflict(findings):
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    x, streams = torch.arange(float(N), device=D), [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = [torch.zeros(N, device=D) for _ in streams]
    torch.cuda.synchronize()
    for s, y in zip(streams, results, strict=True):
        copy[N // 128, 128, cuda.external_stream(s.cuda_stream)](x, y)
    torch.cuda.synchronize()
    assert all(torch.equal(x, y) for y in results)
    assert not findings


def test_numbas_own_streams_and_the_default_stream_wait_for_each_other(inc, findings):
    own = cuda.stream()
    x = torch.zeros(N, device=D)
    a = cuda.as_cuda_array(x)
    for _ in range(3):
        x.add_(1)
        inc[N // 128, 128, own](a)
    own.synchronize()
    assert x.unique().tolist() == [6] and not findings


def test_copies_on_streams():
    own = cuda.stream()
    host = cuda.pinned_array(N, dtype=np.float32)
    host[:] = np.arange(N)
    d = cuda.to_device(host, stream=own)
    back = cuda.pinned_array(N, dtype=np.float32)
    d.copy_to_host(back, stream=own)
    own.synchronize()
    np.testing.assert_array_equal(back, np.arange(N))


def test_events(inc):
    start, end = cuda.event(), cuda.event()
    x = torch.zeros(1 << 20, device=D)
    start.record()
    for _ in range(10):
        inc[(1 << 20) // 256, 256](x)
    end.record()
    end.synchronize()
    assert end.query()
    took = start.elapsed_time(end)
    assert took > 0 and took == cuda.event_elapsed_time(start, end) and math.isfinite(took)


def test_default_streams_and_their_names():
    assert repr(cuda.default_stream()).startswith("<Default CUDA stream")
    assert repr(cuda.external_stream(1234)).startswith("<External CUDA stream 1234")
    assert int(cuda.stream()) not in (0, int(cuda.stream()))


# ------------------------------------------------------------------ counting


def test_bytes_are_counted_once_and_exactly():
    @cuda.jit
    def f(x, y, o):
        i = cuda.grid(1)
        if i < o.size:
            o[i] = x[i] + x[0] + y[i, 0]

    x, y, o = torch.zeros(100, device=D), torch.zeros(100, 4, device=D), torch.zeros(100, device=D)
    f[1, 128](x, y, o)
    with simgpu.recording() as t:
        f[1, 128](x, y, o)
    (launch,) = t.launches
    assert (launch.name, launch.kind) == ("f", "numba")
    assert (launch.bytes_read, launch.bytes_written) == (800, 400)
    assert not t.compiles


def test_sectors_tell_coalesced_from_strided():
    @cuda.jit
    def rows(x, o):
        i = cuda.grid(1)
        o[i] = x[i, 0]

    @cuda.jit
    def columns(x, o):
        i = cuda.grid(1)
        o[i] = x[0, i]

    x, o = torch.zeros(64, 64, device=D), torch.zeros(64, device=D)
    found = {}
    for f in (rows, columns):
        with simgpu.recording() as t:
            f[1, 64](x, o)
        found[f.py_func.__name__] = t.sectors[0]
    assert found["columns"].loads == found["columns"].ideal_loads == 8
    assert found["rows"].loads == 64 and found["rows"].ideal_loads == 8
    assert found["rows"].stores == found["rows"].ideal_stores == 8


def test_a_compile_is_recorded_once():
    @cuda.jit
    def f(x):
        x[0] = 1

    with simgpu.recording() as t:
        f[1, 1](torch.zeros(1, device=D))
        f[1, 1](torch.zeros(1, device=D))
    assert len(t.compiles) == 1
    assert [e.kind for e in t.launches].count("numba") == 2
