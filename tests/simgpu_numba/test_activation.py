"""When numba.cuda is changed, and when it is as it was."""

import subprocess
import sys
import textwrap

import pytest


def run(code, **environment):
    import os

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, check=False, env={**os.environ, "GRADER_GPU": "sim", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


KERNEL = """
import numpy as np
from numba import cuda
@cuda.jit(device=True)
def twice(a):
    return 2 * a
@cuda.jit
def f(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = twice(x[i]) + 1
"""
USE = """
x = np.arange(3.0)
f[1, 4](x)
print(x.tolist() == [1.0, 3.0, 5.0])
"""


def test_importing_grader_does_not_import_numba():
    assert run("import sys, grader, torch; torch.zeros(1, device='cuda'); print('numba' in sys.modules)") == [
        "False"
    ]


@pytest.mark.parametrize("first", ["grader", "numba", "kernel"])
def test_in_whichever_order(first):
    code = {
        "grader": "import grader\n" + KERNEL,
        "numba": "import numba.cuda\nimport grader\n" + KERNEL,
        "kernel": KERNEL + "import grader\n",
    }[first]
    assert run(code + USE) == ["True"]


def test_a_signature_after_activation_and_a_method_of_a_class():
    code = """
    import grader, numpy as np
    from numba import cuda
    @cuda.jit("void(float64[:])")
    def f(x):
        x[cuda.grid(1)] += 1
    x = np.zeros(2)
    f[1, 2](x)
    print(x.tolist() == [1, 1], f.signatures is not None)
    """
    assert run(code) == ["True", "True"]


def test_switched_off_numba_is_as_it_was_and_on_again_it_works():
    code = (
        "from grader import simgpu\nsimgpu.activate('sim')\n" + KERNEL + USE
        + "import numba.cuda.cudadrv.driver as d, numba.cuda.dispatcher as p\n"
        + "simgpu.deactivate()\n"
        + "print(p._Kernel.launch.__module__, d.Device.__module__)\n"
        + "try:\n    cuda.to_device(np.zeros(1)); print('wrong')\n"
        + "except Exception as e: print(type(e).__name__)\n"
        + "simgpu.activate('sim')" + USE
    )  # fmt: skip
    shown = run(code)
    assert shown[0] == shown[-1] == "True"
    assert shown[1:3] == ["numba.cuda.dispatcher", "numba.cuda.cudadrv.driver"]
    assert shown[3] == "CudaSupportError"


def test_plain_numba_is_left_alone():
    code = """
    import grader, numpy as np, numba
    import numba.cuda
    @numba.njit(boundscheck=True)
    def f(x, i):
        return x[i]
    try:
        f(np.zeros(3), 7)
    except IndexError as e:
        print("IndexError")
    @numba.njit
    def g(x):
        d = {1: 2.0}
        return [v + d[1] for v in x]
    print(g(np.arange(2.0)) == [2.0, 3.0])
    """
    assert run(code) == ["IndexError", "True"]


def test_who_asks_for_numbas_simulator_gets_it():
    code = (
        "import grader\n" + KERNEL + "x = np.arange(3.0)\nf[1, 4](x)\nprint(x[2], 'Fake' in type(f).__name__)"
    )
    assert run(code, NUMBA_ENABLE_CUDASIM="1") == ["5.0", "True"]


def test_nothing_of_a_kernel_is_kept_on_disk(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("import grader\n" + KERNEL.replace("@cuda.jit\n", "@cuda.jit(cache=True)\n") + USE)
    for _ in range(2):
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True"]
    assert not list(tmp_path.rglob("*.nbi"))
