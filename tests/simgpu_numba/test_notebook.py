"""Tried in a real Jupyter kernel: lines of cells are named, and a loop without end can be stopped."""

import pytest

SETUP = """
import torch, grader
from numba import cuda
x = torch.zeros(64, device="cuda")
"""
ENDLESS = """
@cuda.jit
def loop(x):
    i = cuda.grid(1)
    {barrier}
    while x[i] < 1:
        x[i] *= 0
loop[1, 64](x)
"""


def test_a_line_of_a_cell_is_named(notebook):
    shown = notebook.run("@cuda.jit\ndef f(x):\n    i = cuda.grid(1)\n    x[i + 60] = 1\n\nf[1, 32](x)")
    assert shown.startswith("KernelFault: UNSAFE (out_of_bounds)   your line 4: `x[i + 60] = 1`")


@pytest.mark.parametrize(
    ("shape", "argument", "said"),
    [("1, 2048", "x", "CUDA_ERROR_INVALID_VALUE"), ("1, 1", "'a'", "unicode_type")],
)
def test_the_traceback_of_a_refused_launch_is_of_the_cell_alone(notebook, shape, argument, said):
    cell = f"""
@cuda.jit
def f(x):
    pass
try:
    f[{shape}]({argument})
except Exception as error:
    print("\\n".join(error._render_traceback_()))
"""
    shown = notebook.run(cell)
    assert said in shown and ".py" not in shown
    assert "Cell" in shown


@pytest.mark.parametrize("barrier", ["pass", "cuda.syncthreads()"])
def test_an_endless_loop_is_stopped(notebook, barrier):
    notebook.run(ENDLESS.format(barrier=barrier).replace("loop[1, 64](x)", "loop[1, 64](x + 1)"))  # compiled
    shown = notebook.run("loop[1, 64](x)", interrupt=1.0)
    assert shown.startswith("KeyboardInterrupt")
    assert notebook.run("print((x * 0 + 1).sum().item())") == "64.0"


def test_what_would_end_a_process_does_not(notebook):
    code = """
@cuda.jit
def f(x, n):
    x[0] = 7 // n
    x[1] = 7 % n
f[1, 1](x, 0)
print("alive")
"""
    assert notebook.run(code).endswith("alive")
