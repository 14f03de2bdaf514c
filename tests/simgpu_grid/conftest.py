"""Kernels of these tests are compiled once, and called through the runtime."""

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from grader import simgpu
from grader.simgpu.grid import abi, runtime
from grader.simgpu.native import compiler


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory):
    before = os.environ.get("PYTORCH_KERNEL_CACHE_PATH")
    os.environ["PYTORCH_KERNEL_CACHE_PATH"] = str(tmp_path_factory.mktemp("kernels"))
    simgpu.activate()
    yield
    if before is None:
        del os.environ["PYTORCH_KERNEL_CACHE_PATH"]
    else:
        os.environ["PYTORCH_KERNEL_CACHE_PATH"] = before


@pytest.fixture(scope="session")
def kernels(_cache_folder, tmp_path_factory):
    runtime.library()
    path = tmp_path_factory.mktemp("grid") / "kernels.so"
    headers = Path(runtime.__file__).parent / "cpp"
    source = Path(__file__).parent / "kernels.cpp"
    command = [
        *compiler.command(),
        "-O1",
        "-shared",
        "-fPIC",
        "-std=c++17",
        f"-I{headers}",
        str(source),
        "-o",
    ]
    subprocess.run([*command, str(path)], check=True)
    return ctypes.CDLL(str(path))


@pytest.fixture
def launch(kernels):
    """launch("add", 2, 64, [x, y], ...): blocks, threads of a block, arrays; the rest is runtime.run's."""

    def run(name, grid, block, arrays=(), **kwargs) -> runtime.Result:
        shape = [tuple(n) + (1,) * (3 - len(n)) if isinstance(n, tuple) else (n, 1, 1) for n in (grid, block)]
        pointers = (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])
        kernel = ctypes.cast(getattr(kernels, name), ctypes.c_void_p).value
        memory = [runtime.Memory(a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays]
        return runtime.run(kernel, ctypes.addressof(pointers), *shape, memory, **kwargs)

    return run


@pytest.fixture
def floats():
    """floats(n): a zeroed float32 array whose address is a multiple of 256, as memory of a GPU is."""

    def make(n):
        room = np.zeros(n + 64, np.float32)
        start = -room.ctypes.data % 256 // 4
        return room[start : start + n]

    return make


def found(result, kind=abi.RACE):
    """The findings of one kind as (earlier site, later site)."""
    findings = result.report.findings[: result.report.n_findings]
    return sorted((f.site_a, f.site_b) for f in findings if f.kind == kind)
