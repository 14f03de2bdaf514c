"""Launches: what PyTorch's own code makes of the arguments, and the limits of the driver."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import torch

from grader import simgpu

from .conftest import HEAD, floats, ints


def compiled(text):
    return torch.cuda._compile_kernel(HEAD + text, "k")


def test_python_numbers_are_doubles_and_32_bit_integers(launch):
    f, i = floats(2), ints(n=3)
    launch("(float* o, float a, double b) { o[0] = a; o[1] = b; }", f, 1.0, 1.5, block=1)
    assert f.tolist() == [0.0, 1.5]  # the low half of the double 1.0
    launch(
        "(int* o, int a, unsigned b, long long c) { o[0] = a; o[1] = b >> 1; o[2] = c == 7; }",
        i,
        2**32 + 5,
        -1,
        7,
        block=1,
    )
    assert i.tolist() == [5, 2**31 - 1, 1]
    launch("(int* o, bool a, char b, short c) { o[0] = a; o[1] = b; o[2] = c; }", i, True, -2, -3, block=1)
    assert i.tolist() == [1, -2, -3]


def test_nothing_is_checked_but_where_tensors_are(launch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, device="cuda")
    o = floats(2)
    launch("(const float* x, float* o) { o[threadIdx.x] = x[threadIdx.x]; }", x, o, block=2)
    assert o.tolist() == [0.0, 1.875]
    with pytest.raises(ValueError, match="All tensor arguments must be CUDA tensors or pinned CPU tensors"):
        launch("(float* x) { x[0] = 1; }", torch.zeros(1))
    with pytest.raises(TypeError, match="Unsupported argument type: <class 'numpy.float32'>"):
        launch("(float* x, float y) { x[0] = y; }", o, np.float32(1))


def test_a_transposed_view_is_only_its_first_address(launch):
    x, o = floats(6).reshape(2, 3).t(), torch.zeros(6, device="cuda")
    launch("(const float* x, float* o) { o[threadIdx.x] = x[threadIdx.x]; }", x, o, block=6)
    assert o.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_pinned_memory_is_written_in_place():
    x = torch.zeros(3).pin_memory()
    compiled("(float* x) { x[threadIdx.x] = 1; }")(block=(3, 1, 1), args=[x])
    torch.cuda.synchronize()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_more_arguments_than_parameters_are_ignored_and_fewer_are_refused(launch):
    x = ints(n=1)
    launch("(int* x) { x[0] = 4; }", x, 1, 2, block=1)
    assert x.item() == 4
    with pytest.raises(RuntimeError, match="has 2 parameters and was given 1 argument"):
        launch("(int* x, int n) { x[0] = n; }", x)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        (1, 1025),
        (1, 0),
        (0, 32),
        (1, (32, 33)),
        (1, (1, 1, 65)),
        ((1, 65536), 1),
        ((1, 1, 65536), 1),
        (2**31, 1),
        (1, -1),
    ],
)
def test_shapes_that_the_driver_refuses(launch, grid, block):
    x = ints(n=1)
    with pytest.raises(RuntimeError, match="^CUDA error: invalid argument$"):
        launch("(int* x) { x[0] = 4; }", x, grid=grid, block=block)
    assert x.item() == 0
    launch("(int* x) { x[0] = 4; }", x, block=1)
    assert x.item() == 4


def test_shapes_that_ctypes_refuses(launch):
    with pytest.raises(ctypes.ArgumentError):
        launch("(int* x) { x[0] = 4; }", ints(n=1), grid=(1.0, 1, 1))


def test_the_largest_block(launch):
    x = ints(n=1)
    launch("(int* x) { atomicAdd(x, 1); }", x, grid=(3, 2), block=(32, 32))
    assert x.item() == 6 * 1024


def test_shared_memory_has_limits(launch):
    text = "(float* x) { extern __shared__ float s[]; s[threadIdx.x] = 1; x[0] = s[0]; }"
    kernel = compiled(text)
    with pytest.raises(RuntimeError, match="Kernel requires 60000 bytes of shared memory"):
        kernel(args=[floats(1)], shared_mem=60_000)
    kernel.set_shared_memory_config(60_000)
    kernel(args=[floats(1)], shared_mem=60_000)
    with pytest.raises(RuntimeError, match="exceeds device limit"):
        kernel.set_shared_memory_config(300_000)
    both = (
        "(float* x) { extern __shared__ float d[]; __shared__ float s[1000]; s[threadIdx.x] = x[0]; d[0] "
        "= 1; x[0] = s[0] + d[0]; }"
    )
    with pytest.raises(RuntimeError, match="invalid argument"):
        launch(both, floats(1), shared_mem=48_000, block=1)


def test_what_is_recorded(launch):
    x, y = floats(1024), torch.zeros(1024, device="cuda")
    with simgpu.recording() as trace:
        launch(
            "(const float* x, float* y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i * 8 "
            "% 1024]; }",
            x,
            y,
            grid=8,
            block=128,
        )
    (compile_,) = trace.compiles
    (kernel,) = trace.launches
    (sectors,) = trace.sectors
    assert compile_.name == "k"
    assert (kernel.name, kernel.kind, kernel.bytes_read, kernel.bytes_written) == ("k", "cuda_cpp", 512, 4096)
    assert (sectors.loads, sectors.stores, sectors.ideal_loads, sectors.ideal_stores) == (1024, 128, 128, 128)


def test_a_compiled_kernel_is_found_again():
    with simgpu.recording() as trace:
        for _ in range(2):
            compiled("(int* x) { x[0] = 12345; }")
    assert [c.cached for c in trace.compiles] == [False, True]


def test_other_streams(launch):
    x, s = ints(n=64), torch.cuda.Stream()
    add = compiled("(int* x) { x[threadIdx.x] += 1; }")
    s.wait_stream(torch.cuda.current_stream())
    add(block=(64, 1, 1), args=[x], stream=s)
    with torch.cuda.stream(s):
        add(block=(64, 1, 1), args=[x])
    torch.cuda.current_stream().wait_stream(s)
    assert x.unique().tolist() == [2]
