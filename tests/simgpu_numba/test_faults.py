"""What kernels do wrong: the launch ends with an error, or runs to its end and is found unsafe."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from numba import cuda, float32

from grader.simgpu import order
from grader.simgpu.grid.faults import KernelFault

D = "cuda"


def kinds(findings):
    return sorted({f.kind for f in findings})


# ------------------------------------------------------------------ out of bounds


def test_an_index_beyond_the_end():
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        y[i] = x[i]  # no guard

    with pytest.raises(KernelFault) as fault:
        copy[4, 32](torch.zeros(100, device=D), torch.zeros(128, device=D))
    text = str(fault.value)
    assert text.startswith("UNSAFE (out_of_bounds)")
    assert "`y[i] = x[i]  # no guard`" in text
    assert "block (3,0,0), thread (4,0,0) asks for index 100 of x, but x has 100 elements" in text
    assert fault.value.reason == "out_of_bounds"


def test_the_axis_is_named():
    @cuda.jit
    def f(x):
        i, j = cuda.grid(2)
        x[i, j] = 1

    with pytest.raises(KernelFault, match=r"index 3 of x along axis 1, but x has 3 elements there"):
        f[(1, 1), (2, 4)](np.zeros((4, 3)))


@pytest.mark.parametrize("kind", ["shared", "local"])
def test_the_axis_of_an_array_of_the_kernels_own_is_named(kind):
    @cuda.jit
    def shared(x, i, j):
        own = cuda.shared.array((16, 8), float32)
        own[i, j] = x[0]

    @cuda.jit
    def local(x, i, j):
        own = cuda.local.array((16, 8), float32)
        own[i, j] = x[0]

    f = {"shared": shared, "local": local}[kind]
    for index, text in (
        ((16, 0), "index 16 of own along axis 0, but own has 16 elements there."),
        ((0, 9), "index 9 of own along axis 1, but own has 8 elements there."),
    ):
        with pytest.raises(KernelFault, match=text):
            f[1, 1](torch.zeros(1, device=D), *index)


def test_a_negative_index_wraps_once():
    @cuda.jit
    def f(x, i):
        x[i] = 5

    x = torch.zeros(4, device=D)
    f[1, 1](x, -4)
    assert x.tolist() == [5, 0, 0, 0]
    with pytest.raises(KernelFault, match="index -5 of x, but x has 4 elements"):
        f[1, 1](x, -5)


@pytest.mark.parametrize("where", ["shared", "local", "atomic", "device function", "slice"])
def test_everything_indexed_is_checked(where):
    @cuda.jit(device=True)
    def get(row, i):
        return row[i]

    @cuda.jit
    def shared(x):
        s = cuda.shared.array(8, float32)
        s[cuda.threadIdx.x] = x[0]

    @cuda.jit
    def local(x):
        own = cuda.local.array(8, float32)
        own[cuda.threadIdx.x] = 1
        x[0] = own[0]

    @cuda.jit
    def atomic(x):
        cuda.atomic.add(x, cuda.threadIdx.x, 1)

    @cuda.jit
    def device(x):
        get(x, cuda.threadIdx.x)
        x[cuda.threadIdx.x] = get(x, cuda.threadIdx.x)

    @cuda.jit
    def sliced(x):
        part = x[2:10]
        part[cuda.threadIdx.x] = 1

    f = {"shared": shared, "local": local, "atomic": atomic, "device function": device, "slice": sliced}[
        where
    ]
    with (
        order.collect(),
        pytest.raises(KernelFault, match="thread \\(8,0,0\\) asks for index 8|thread \\(6,0,0\\)"),
    ):
        f[1, 16](torch.zeros(8, device=D))


def test_inside_a_block_that_meets_at_barriers():
    @cuda.jit
    def f(x):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        x[t] = s[t + 1]

    for _ in range(50):  # threads that are left behind leave nothing behind
        with pytest.raises(KernelFault, match="thread \\(31,0,0\\) asks for index 32 of s"):
            f[1, 32](torch.zeros(32, device=D))


def test_what_the_other_threads_did_before_stays():
    @cuda.jit
    def f(x):
        x[cuda.grid(1)] = 1

    x = torch.zeros(4, device=D)
    with pytest.raises(KernelFault):
        f[1, 8](x)
    assert x.tolist() == [1, 1, 1, 1]


def in_a_process_of_its_own(code):
    done = subprocess.run(
        [sys.executable, "-c", "import grader, torch\nfrom numba import cuda\n" + textwrap.dedent(code)],
        capture_output=True, text=True, check=False, env={**__import__("os").environ, "GRADER_GPU": "sim"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


SAY = """
def say(f):
    try:
        f()
        print("fine")
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])
"""


def test_far_out_of_bounds_the_device_is_lost_at_the_next_wait(tmp_path):
    path = tmp_path / "far.py"
    path.write_text(
        "import grader, torch\nfrom numba import cuda\n"
        + SAY
        + textwrap.dedent("""
        @cuda.jit
        def f(x):
            x[cuda.grid(1) + (1 << 42)] = 1
        x = torch.zeros(8, device="cuda")
        say(lambda: f[1, 32](x))
        say(cuda.synchronize)
        say(torch.cuda.synchronize)
        say(lambda: x + 1)
        say(lambda: f[1, 1](x))
        """)
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "fine"
    assert (
        lines[1].startswith("CudaAPIError [") and "700" in lines[1] and "Call to cuCtxSynchronize" in lines[1]
    )
    assert lines[2] == lines[3] == "AcceleratorError CUDA error: an illegal memory access was encountered"
    assert lines[4].startswith("AcceleratorError")


def test_a_host_tensor_where_numba_takes_it(findings):
    from .packages import NUMBA_CUDA

    @cuda.jit
    def f(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    x = torch.ones(16)
    if not NUMBA_CUDA:
        with pytest.raises(ValueError, match="Cannot determine Numba type of <class 'torch.Tensor'>"):
            f[1, 16](x)
        return
    f[1, 16](x)  # the launch itself says nothing, as on a GPU
    assert kinds(findings) == ["host_memory"]
    assert "x is a CPU tensor" in findings[0].text and "illegal memory access" in findings[0].text
    with pytest.raises(torch.AcceleratorError, match="an illegal memory access was encountered"):
        torch.cuda.synchronize()
    assert x.tolist() == [1] * 16


def test_a_host_tensor_that_no_thread_touches(findings):
    from .packages import NUMBA_CUDA

    if not NUMBA_CUDA:
        pytest.skip("numba's built-in target refuses host tensors")

    @cuda.jit
    def f(x, y):
        y[0] = x.size

    y = torch.zeros(1, device=D)
    f[1, 1](torch.ones(7), y)
    assert y.item() == 7 and not findings


# ------------------------------------------------------------------ races and their mended twins


def twins():
    @cuda.jit
    def sum_racy(x):
        x[0] += 1

    @cuda.jit
    def sum_atomic(x):
        cuda.atomic.add(x, 0, 1)

    @cuda.jit
    def neighbour_racy(x):
        i = cuda.grid(1)
        if i + 1 < x.size:
            x[i] = x[i + 1]

    @cuda.jit
    def neighbour_mended(x):
        i = cuda.grid(1)
        v = 0.0
        if i + 1 < x.size:
            v = x[i + 1]
        cuda.syncthreads()
        if i + 1 < x.size:
            x[i] = v

    @cuda.jit
    def reverse_racy(x):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        x[t] = s[63 - t]

    @cuda.jit
    def reverse_mended(x):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        x[t] = s[63 - t]

    @cuda.jit
    def reuse_racy(x):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        for k in range(3):
            s[t] = x[t] + k
            cuda.syncthreads()
            x[t] = s[63 - t]

    @cuda.jit
    def reuse_mended(x):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        for k in range(3):
            s[t] = x[t] + k
            cuda.syncthreads()
            x[t] = s[63 - t]
            cuda.syncthreads()

    @cuda.jit
    def halving_racy(x):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        half = 32
        while half > 0:
            if t < half:
                s[t] += s[t + half]
            half //= 2
        if t == 0:
            x[0] = s[0]

    @cuda.jit
    def halving_mended(x):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        half = 32
        while half > 0:
            if t < half:
                s[t] += s[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            x[0] = s[0]

    @cuda.jit
    def mixed_racy(x):
        if cuda.threadIdx.x == 0:
            x[0] = 5
        else:
            cuda.atomic.add(x, 0, 1)

    @cuda.jit
    def mixed_mended(x):
        if cuda.threadIdx.x == 0:
            x[0] = 5
        cuda.syncthreads()
        if cuda.threadIdx.x > 0:
            cuda.atomic.add(x, 0, 1)

    @cuda.jit
    def blocks_racy(x):
        x[cuda.threadIdx.x] = cuda.blockIdx.x

    @cuda.jit
    def blocks_mended(x):
        if cuda.blockIdx.x == 0:
            x[cuda.threadIdx.x] = cuda.blockIdx.x

    found = {k: v for k, v in locals().items() if k.endswith(("_racy", "_mended", "_atomic"))}
    return [(name, kernel, 2 if name.startswith("blocks") else 1) for name, kernel in found.items()]


@pytest.mark.parametrize(("name", "kernel", "grid"), twins(), ids=lambda v: v if isinstance(v, str) else "")
def test_races_and_their_twins(name, kernel, grid, findings):
    for _ in range(20):
        with order.collect() as found:
            kernel[grid, 64](torch.zeros(64, device=D))
        assert kinds(found) == (["race"] if name.endswith("_racy") else []), [f.text for f in found]


def test_a_race_names_both_lines_both_threads_and_the_element(findings):
    @cuda.jit
    def f(x, y):
        i = cuda.grid(1)
        x[i] = y[i]
        y[i] = x[(i + 1) % x.size]

    f[1, 8](torch.zeros(8, device=D), torch.zeros(8, device=D))
    text = findings[0].text
    assert text.startswith("UNSAFE (race)")
    assert "`x[i] = y[i]`" in text and "`y[i] = x[(i + 1) % x.size]`" in text
    assert "x[1]" in text and "thread (1,0,0)" in text and "thread (0,0,0)" in text
    assert "block (0,0,0)" in text


def test_a_race_names_the_shared_array(findings):
    @cuda.jit
    def f(x):
        tile, t = cuda.shared.array(32, float32), cuda.threadIdx.x
        tile[t] = x[t]
        x[t] = tile[31 - t]

    f[1, 32](torch.zeros(32, device=D))
    assert "s tile (shared memory); thread (" in findings[0].text  # it writes or reads it


def test_a_race_is_warned_once_in_a_notebook():
    @cuda.jit
    def f(x):
        x[0] = cuda.threadIdx.x

    code = """
    import warnings
    @cuda.jit
    def f(x):
        x[0] = cuda.threadIdx.x
    x = torch.zeros(4, device="cuda")
    for _ in range(3):
        f[1, 32](x)
    """
    _, warned = in_a_process_of_its_own(code)
    assert warned.count("UNSAFE (race)") == 1
    assert "HazardWarning" in warned


# ------------------------------------------------------------------ barriers


def test_a_barrier_that_some_threads_never_reach(findings):
    @cuda.jit
    def f(x):
        t = cuda.threadIdx.x
        if t < 16:
            cuda.syncthreads()
        x[t] = t

    x = torch.zeros(32, device=D)
    f[1, 32](x)
    assert kinds(findings) == ["divergent_barrier"]
    assert "`cuda.syncthreads()`" in findings[0].text and "thread (16,0,0)" in findings[0].text
    assert x.tolist() == list(range(32))


def test_two_barriers_for_two_branches(findings):
    @cuda.jit
    def f(x):
        t = cuda.threadIdx.x
        if t % 2:
            x[t] = 1
            cuda.syncthreads()
        else:
            x[t] = 2
            cuda.syncthreads()

    f[1, 32](torch.zeros(32, device=D))
    assert kinds(findings) == ["divergent_barrier"]


def test_a_warp_operation_whose_mask_names_absent_lanes(findings):
    @cuda.jit
    def f(x):
        t = cuda.threadIdx.x
        if t < 8:
            x[t] = cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 1)

    f[1, 32](torch.arange(32.0, device=D))
    assert kinds(findings) == ["warp"]
