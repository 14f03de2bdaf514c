"""What an answer prints during a check comes as a short warning, not as a flood."""

import os
import sys

import pytest
import torch

from grader import exercises, simgpu
from grader.check import check

HELLO = exercises.get("hello-gpu")


def doubled(values):
    return (2 * torch.tensor(values, device="cuda")).tolist()


def test_python_output_is_kept_back_and_counted(capfd):
    def double_on_gpu(values):
        print("a")
        print("b", file=sys.stderr)
        return doubled(values)

    verdict = check(HELLO, double_on_gpu)
    assert verdict.passed
    assert verdict.warnings == ("your code printed during the check: a / b / a (17 more lines not shown)",)
    assert capfd.readouterr() == ("", "")


def test_what_a_kernel_prints_is_kept_back(capfd):
    if not simgpu.is_simulated():
        pytest.skip("a real GPU hands its output over when it likes")
    kernel = torch.cuda.jiterator._create_jit_fn(
        'template <typename T> T add(T x, T y) { printf("element\\n"); return x + y; }'
    )
    verdict = check(exercises.get("jit-add"), kernel)
    assert verdict.passed
    assert "element / element / element (" in verdict.warnings[-1]
    assert capfd.readouterr().out == ""


def test_output_is_back_after_a_check_and_after_an_interrupt(capfd):
    def interrupted(values):
        raise KeyboardInterrupt

    check(HELLO, doubled)
    with pytest.raises(KeyboardInterrupt):
        check(HELLO, interrupted)
    print("python")
    sys.stdout.flush()
    os.write(1, b"process\n")
    assert capfd.readouterr().out == "python\nprocess\n"


def test_who_prints_nothing_reads_nothing_of_it():
    assert check(HELLO, doubled).warnings == ()


def test_a_long_line_is_cut():
    def double_on_gpu(values):
        print("x" * 100_000)
        return doubled(values)

    assert len(check(HELLO, double_on_gpu).warnings[0]) < 500
