"""Tried in a real Jupyter kernel: what a learner's kernel does wrong leaves the notebook alive."""

from __future__ import annotations

import os
import threading
import time

import pytest

manager = pytest.importorskip("jupyter_client.manager")

SETUP = """
import torch
from grader import simgpu
simgpu.activate("sim")
create = torch.cuda.jiterator._create_jit_fn
x = torch.tensor([1, 0, -1], dtype=torch.int32, device="cuda")
big = torch.ones(300_000, device="cuda")
"""


class Notebook:
    def __init__(self):
        self.manager, self.client = manager.start_new_kernel(
            kernel_name="python3", env={**os.environ, "GRADER_GPU": "sim"}
        )

    def run(self, code: str, interrupt: float | None = None) -> str:
        """What the cell prints, or the name of the exception that it ends with."""
        message = self.client.execute(code)
        if interrupt is not None:
            threading.Timer(interrupt, self.manager.interrupt_kernel).start()
        shown, end = [], time.monotonic() + 60
        while time.monotonic() < end:
            reply = self.client.get_iopub_msg(timeout=60)
            if reply["parent_header"].get("msg_id") != message:
                continue
            content = reply["content"]
            if reply["msg_type"] == "stream":
                shown.append(content["text"])  # one print may come in several messages
            if reply["msg_type"] == "error":
                shown.append(content["ename"])
                print(content["evalue"])  # shown if the test fails
            if reply["msg_type"] == "status" and content["execution_state"] == "idle":
                return "".join(shown).strip()
        raise TimeoutError(code)


@pytest.fixture(scope="module")
def notebook():
    book = Notebook()
    try:
        assert "Error" not in book.run(SETUP)
        yield book
    finally:
        book.client.stop_channels()
        book.manager.shutdown_kernel(now=True)


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
    assert notebook.run(cell, interrupt) == shown
    assert (
        notebook.run('print(create("template <typename T> T g(T a) { return a * T(2); }")(x).tolist())')
        == "[2, 0, -2]"
    )
    assert notebook.run("print(int((big + 1).sum().item()))") == "600000"
