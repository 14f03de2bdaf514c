"""Kernels that reach memory by pointers which are no tensor arguments, and addresses that are nobody's."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import torch

from grader.simgpu import order
from grader.simgpu.grid.faults import KernelFault

from .conftest import HEAD, floats, ints


def text_of(findings):
    (finding,) = findings
    return finding.text


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
def test_a_table_of_pointers_leads_to_tensors(launch, barrier):
    several = [floats(64) for _ in range(20)]
    table = torch.tensor([x.data_ptr() for x in several], device="cuda")
    text = f"(float** table) {{ {barrier} table[blockIdx.x][threadIdx.x] += blockIdx.x; }}"
    assert launch(text, table, grid=20, block=64) == []
    for i, x in enumerate(several):
        assert torch.equal(x.cpu(), torch.arange(64.0) + i)


def test_a_pointer_kept_from_an_earlier_launch_leads_to_its_tensor():
    code = (
        "__device__ float* kept;\n"
        + HEAD
        + "(float* x, float* y) { if (y) y[threadIdx.x] = kept[threadIdx.x]; else kept = x; }"
    )
    kernel = torch.cuda._compile_kernel(code, "k")
    x, y = floats(32), torch.zeros(32, device="cuda")
    with order.collect():
        kernel(block=(1, 1, 1), args=[x, torch.zeros(0, device="cuda")])
        with order.collect() as findings:
            kernel(block=(32, 1, 1), args=[torch.zeros(1, device="cuda"), y])
    assert (findings, y.tolist()) == ([], x.tolist())


def test_an_address_given_as_a_number_leads_to_its_tensor(launch):
    x = floats(32)
    low = torch.tensor([x.data_ptr()], device="cuda")
    launch("(const long long* a) { ((float*)a[0])[threadIdx.x] = 7; }", low)
    assert x.unique().tolist() == [7.0]


def test_a_kernel_without_such_a_pointer_is_not_led_to_another_tensor(launch):
    x, other = floats(1024), floats(1024)
    away = (other.data_ptr() - x.data_ptr()) // 4
    with order.collect(), pytest.raises((KernelFault, torch.AcceleratorError)):
        launch(f"(float* x) {{ x[{away}ll] = 1; }}", x)
        torch.cuda.synchronize()


def test_beyond_the_tensor_to_which_a_pointer_leads(launch):
    x = floats(32)
    table = torch.tensor([x.data_ptr()], device="cuda")
    with pytest.raises(KernelFault, match="the tensor to which its pointer leads has 128 bytes"):
        launch("(float** t) { t[0][threadIdx.x] = 7; }", table, block=33)


def test_a_race_in_memory_to_which_a_pointer_leads(launch):
    x = floats(32)
    table = torch.tensor([x.data_ptr()], device="cuda")
    assert "writes address 0x" in text_of(launch("(float** t) { t[0][0] = threadIdx.x; }", table))


def test_what_a_kernel_writes_through_a_table_is_work_of_its_stream():
    x = floats(1 << 16)
    table = torch.tensor([x.data_ptr()], device="cuda")
    kernel = torch.cuda._compile_kernel(
        HEAD + "(float** t) { int i = blockIdx.x * blockDim.x + threadIdx.x; t[0][i] = 7; }", "k"
    )
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with order.collect() as findings:
        kernel(grid=(256, 1, 1), block=(256, 1, 1), args=[table], stream=side)
        x + 1  # without waiting
        torch.cuda.synchronize()
    assert len(findings) == 1


def test_an_interrupt_while_pointers_are_looked_up(launch, monkeypatch):
    from grader.simgpu.nvrtc.pointers import Pointers

    found = Pointers.memory_at

    def slow(self, address, size):
        os.kill(os.getpid(), signal.SIGINT)
        return found(self, address, size)

    monkeypatch.setattr(Pointers, "memory_at", slow)
    x = floats(32)
    table = torch.tensor([x.data_ptr()], device="cuda")
    with pytest.raises(KeyboardInterrupt):
        launch("(float** t) { t[0][threadIdx.x] = 7; while (1) *(volatile float*)t[0]; }", table)
    assert floats(3).sum().item() == 3


def test_forgotten_dynamic_shared_memory_is_named(launch):
    text = "(float* x) { extern __shared__ float s[]; s[threadIdx.x] = 1; __syncthreads(); x[0] = s[0]; }"
    with pytest.raises(
        KernelFault,
        match=r"writes dynamic shared memory\[0\], but dynamic shared memory has 0 bytes: shared_mem=",
    ):
        launch(text, floats(64))


@pytest.mark.parametrize("given", [0, 5])
def test_a_null_pointer_is_named(launch, given):
    said = text_of(launch("(float* x, float* o) { x[threadIdx.x] = 1; o[0] = 1; }", given, floats(64)))
    assert f"writes address {given:#x}, but that is a null pointer, or a number passed" in said
    with pytest.raises(torch.AcceleratorError):
        torch.cuda.synchronize()


def test_a_wild_address_is_not_named_after_an_argument(launch):
    said = text_of(launch("(float* o) { *(float*)0x7000000000 = o[0]; }", floats(64), block=1))
    assert "writes address 0x7000000000, but that is far from every argument" in said


def test_a_little_beyond_the_constants_of_the_file_is_out_of_bounds(launch):
    before = "__constant__ float c[3];\n"
    text = "(float* x, int i) { x[0] = c[i + threadIdx.x]; }"
    with pytest.raises(
        KernelFault, match="the __constant__ and __device__ variables of the file do not reach"
    ):
        launch(text, floats(4), 4096, before=before, block=1)
    assert floats(3).sum().item() == 3


def test_numbers_are_no_pointers():
    from grader.simgpu.grid.runtime import Memory
    from grader.simgpu.nvrtc.pointers import Pointers

    x, numbers = floats(8), np.arange(64, dtype=np.int64)
    of_numbers = Memory(numbers.ctypes.data, numbers.ctypes.data + numbers.nbytes)
    assert Pointers(False, [], [of_numbers]).memory_at(x.data_ptr(), 4) is None
    numbers[3] = x.data_ptr()
    assert Pointers(False, [], [of_numbers]).memory_at(x.data_ptr() + 4, 4).low == x.data_ptr()
    assert Pointers(False, [x.data_ptr().to_bytes(8, "little")], []).memory_at(x.data_ptr(), 4) is not None
    assert Pointers(True, [], []).memory_at(x.data_ptr() + 32, 4) is None
    assert ints(1).item() == 1


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
def test_an_interrupted_thread_is_named(launch, barrier):
    x = ints(n=1)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(
        KeyboardInterrupt,
        match=r"kernel k, line 2: `while .*\nblock \(0,0,0\), thread \(0,0,0\) .*take turns only at barr",
    ):
        launch(f"(int* x) {{ {barrier}\n while (*(volatile int*)x == 0) {{ }} }}", x)
