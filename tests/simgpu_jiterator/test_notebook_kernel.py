"""Tried in a real Jupyter kernel: what a learner's kernel does wrong leaves the notebook alive."""

from __future__ import annotations

import pytest

SETUP = """
import torch
from grader import simgpu
simgpu.activate("sim")
create = torch.cuda.jiterator._create_jit_fn
x = torch.tensor([1, 0, -1], dtype=torch.int32, device="cuda")
big = torch.ones(300_000, device="cuda")
"""


@pytest.mark.parametrize(
    ("cell", "shown", "interrupt"),
    [
        (
            'print(create("template <typename T> T f(T a) { return T(7) / a; }")(x).tolist())',
            "[7, -1, -7]",
            None,
        ),
        (
            'print(create("template <typename T> T f(T a) { return (-2147483647 - 1) / a; }")(x).tolist())',
            "[-2147483648, -1, -2147483648]",
            None,
        ),
        (
            'create("template <typename T> T f(T a) { while (true) { } return a; }")(x)',
            "KeyboardInterrupt",
            1.5,
        ),
        (
            'create("template <typename T> T f(T a) { while (true) { } return a; }")(big)',
            "KeyboardInterrupt",
            1.5,
        ),
        ('create("template <typename T> T f(T a) { return f<T>(a + T(1)) + a; }")(x)', "RuntimeError", None),
        (
            'create("template <typename T> T f(T a) { return f<T>(a + T(1)) + a; }")(big)',
            "RuntimeError",
            None,
        ),
        ("while True: pass", "KeyboardInterrupt", 1.0),
    ],
    ids=["zero", "least", "loop", "loop in workers", "recursion", "recursion in workers", "python"],
)
def test_the_notebook_stays_alive(notebook, cell, shown, interrupt):
    assert notebook.run(cell, interrupt).split(":")[0] == shown
    assert (
        notebook.run('print(create("template <typename T> T g(T a) { return a * T(2); }")(x).tolist())')
        == "[2, 0, -2]"
    )
    assert notebook.run("print(int((big + 1).sum().item()))") == "600000"
