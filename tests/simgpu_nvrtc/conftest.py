"""Kernels of these tests are cached in a folder of their own; each test starts with a good device."""

import os

import pytest
import torch

from grader import simgpu
from grader.simgpu import lost, order


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory):
    before = os.environ.get("PYTORCH_KERNEL_CACHE_PATH")
    os.environ["PYTORCH_KERNEL_CACHE_PATH"] = str(tmp_path_factory.mktemp("kernels"))
    yield
    if before is None:
        del os.environ["PYTORCH_KERNEL_CACHE_PATH"]
    else:
        os.environ["PYTORCH_KERNEL_CACHE_PATH"] = before


@pytest.fixture(autouse=True)
def _gpu(_cache_folder):
    with simgpu.simulated():
        lost.heal()
        yield
        lost.heal()


HEAD = 'extern "C" __global__ void k'


@pytest.fixture
def launch():
    """launch(text after the kernel's name, arguments...): compiles and launches; returns the findings."""

    def run(text, *args, grid=1, block=32, name="k", shared_mem=0, before=""):
        kernel = torch.cuda._compile_kernel(before + (HEAD + text if text.startswith("(") else text), name)
        shape = [tuple(n) + (1,) * (3 - len(n)) if isinstance(n, tuple) else (n, 1, 1) for n in (grid, block)]
        with order.collect() as findings:
            kernel(grid=shape[0], block=shape[1], args=list(args), shared_mem=shared_mem)
        return findings

    return run


def ints(*values, n=None):
    """An int32 tensor on the device: of these values, or n zeros."""
    return torch.tensor(values or [0] * n, dtype=torch.int32, device="cuda")


def floats(n):
    """0, 1, ... n - 1 as float32 on the device."""
    return torch.arange(n, dtype=torch.float32, device="cuda")
