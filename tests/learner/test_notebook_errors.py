"""Errors as a Jupyter kernel shows them: the learner's lines, what happened, and what to do."""

import re
import threading
import time

import pytest
import torch
from jupyter_client.manager import start_new_kernel

import grader  # noqa: F401  (the notes at creation)

KERNEL = "template <typename T> T f(T x) { return x; }"
CREATE = "torch.cuda.jiterator._create_jit_fn"


@pytest.fixture(scope="module")
def shown():
    """shown(code, stop_when=None): the traceback that a notebook shows, plain; "" if there is none. The
    kernel is interrupted as soon as there is a file `stop_when`.
    """
    manager, client = start_new_kernel(kernel_name="python3")

    def interrupt(when):
        while not when.exists():
            time.sleep(0.05)
        manager.interrupt_kernel()

    def run(code, stop_when=None):
        errors = []

        def take(message):
            if message["msg_type"] == "error":
                errors.extend(message["content"]["traceback"])

        if stop_when:
            threading.Thread(target=interrupt, args=(stop_when,), daemon=True).start()
        client.execute_interactive(code, output_hook=take, timeout=120)
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(errors))

    assert run("import grader, torch") == ""
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(
    "code, last",
    [
        (f'{CREATE}("// mine\\n{KERNEL}")', "starts with a comment (line 1)"),
        (f'{CREATE}("#include <x>\\n{KERNEL}")', "No header can be included"),
        (f'{CREATE}("T f(T x) {{ return x; }}")', "Put `template <typename T>` in front"),
        (f'{CREATE}("template <typename T> T f(T x) return x;")', "the opening brace `{` is not there"),
        (f"{CREATE}(lambda x: x)", "This is a Python function"),
        (f"{CREATE.replace('_jit', '_multi_output_jit')}('T f(T x)', num_outputs=2)", "Put `template"),
    ],
)  # fmt: skip
def test_text_that_cannot_be_read_ends_with_the_rule_it_breaks(code, last, shown):
    lines = shown(code).strip().split("\n")
    assert last in lines[-1] and lines[-1][0].isupper()
    assert not any(name in line for line in lines for name in ("site-packages", "grader"))
    assert len(lines) < 14


@pytest.mark.parametrize(
    "text, call, last",
    [
        ("T x) { return y; }", "k(x)", 'identifier "y" is undefined'),
        ("T x) { T y = x; }", "k(x)", "Which path has no return?"),
        ("T x) { return f(x) + x; }", "k(x)", "calls itself without end"),
        ("T x) { return x; }", "k(x.cpu())", "non-CUDA DeviceType"),
        ("T x, T y) { return x; }", "k(x, x.cpu())", "at least two devices"),
        ("T x, T y) { return x; }", "k(x, 2.0)", "1 of input tensors tuple is not a Tensor"),
    ],
)
def test_a_failed_launch_shows_the_learners_lines_and_the_message(text, call, last, shown):
    make = f"k = {CREATE}('template <typename T> T f({text}')\nx = torch.ones(3, device='cuda')"
    lines = shown(f"{make}\ndef mine(k, x):\n    return {call}\nmine(k, x)").strip().split("\n")
    assert any(f"return {call}" in line for line in lines) and any("mine(k, x)" in line for line in lines)
    assert any(last in line for line in lines)
    assert not any(name in line for line in lines for name in ("site-packages", "/grader/", "jiterator.py"))
    assert len(lines) < 40


def test_ctrl_c_in_a_kernel_shows_the_learners_lines(shown, tmp_path):
    running = tmp_path / "running"
    text = shown(
        f"k = {CREATE}('template <typename T> T f(T x) {{ while (x > 0) {{ x += 1; x -= 1; }} return x; }}')"
        f"\nx = torch.ones(3, device='cuda')\nk(-x)\nopen({str(running)!r}, 'w').close()\nk(x)",
        stop_when=running,
    )
    assert "KeyboardInterrupt" in text and "k(x)" in text
    assert "/grader/" not in text and "site-packages" not in text


def test_type_and_message_of_the_exception_stay_pytorchs():
    with pytest.raises(Exception) as caught:
        torch.cuda.jiterator._create_jit_fn("// no")
    assert type(caught.value) is Exception
    assert str(caught.value) == "Couldn't parse code, please check correctness:\n // no"
    assert len(caught.value.__notes__) == 1


def test_other_errors_at_creation_get_no_note():
    with pytest.raises(TypeError) as caught:
        torch.cuda.jiterator._create_jit_fn()
    assert not hasattr(caught.value, "__notes__")


def test_ctrl_c_in_a_check_shows_the_cell_and_what_ran(shown, tmp_path):
    running = tmp_path / "running"
    text = shown(
        f"def add(x, y):\n    open({str(running)!r}, 'w').close()\n    while True: pass\n"
        "grader.exercise('jit-add').check(add)",
        stop_when=running,
    )
    assert "KeyboardInterrupt: stopped while add([" in text and "does a loop in it never end?" in text
    assert "/grader/" not in text and len(text.split("\n")) < 14
