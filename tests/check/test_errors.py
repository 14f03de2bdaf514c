import re

import pytest
import torch

from grader import exercises, simgpu
from grader.check import Reason, Values, check
from grader.tracebacks import is_learners

HELLO = exercises.get("hello-gpu")


def cell(source, filename="/tmp/ipykernel_77/1234567.py"):
    """A function defined as a notebook cell defines it: its file is no file, its text is in linecache."""
    import linecache

    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = {"torch": torch}
    exec(compile(source, filename, "exec"), names)
    return names["double_on_gpu"]


def test_their_own_line_is_shown_and_no_traceback():
    verdict = check(
        HELLO,
        cell(
            "def double_on_gpu(values):\n    t = torch.tensor(values, device='cuda')\n"
            "    return helper(t)\n\ndef helper(t):\n    return t.tolist() / 0\n"
        ),
    )
    assert (verdict.values, verdict.reason) == (Values.ERROR, Reason.RAISED)
    assert verdict.lines == ("your line 6: return t.tolist() / 0",)
    assert "raised TypeError: unsupported operand" in verdict.headline
    assert "Traceback" not in str(verdict) and "/tmp/ipykernel" not in str(verdict)


@pytest.mark.parametrize(
    "body, words",
    [
        ("return (2 * torch.tensor(values, device='cuda')).numpy().tolist()", "NumPy lives on the host"),
        ("return values.to('cuda')", "torch.tensor(...) makes one"),
        ("return valuse", "spelt the same"),
        ("return double_on_gpu(values)", "wrapper must call the kernel"),
        (
            "return (torch.tensor(values) + torch.ones(len(values), device='cuda')).tolist()",
            "lives on the CPU",
        ),
        ("raise SystemExit(2)", "not end the program"),
        ("import sys; sys.exit()", "not end the program"),
        ("return torch.cuda.jiterator._create_jit_fn('#include <x>')(values)", "No header"),
    ],
)
def test_advice(body, words):
    verdict = check(HELLO, cell(f"def double_on_gpu(values):\n    {body}\n"))
    assert verdict.values is Values.ERROR
    assert words in verdict.explanation, verdict


def test_a_wrong_number_of_parameters_names_the_signature():
    verdict = check(HELLO, lambda: 1)
    assert verdict.reason is Reason.RAISED and "signature" in verdict.explanation


def test_a_kernel_made_before_the_simulated_gpu_was_on_says_what_to_run():
    kernel = torch.cuda.jiterator._create_jit_fn("template <typename T> T add(T x, T y) { return x + y; }")
    kernel.is_cuda_available = False  # what jiterator notes when it finds no GPU at creation
    verdict = check(exercises.get("jit-add"), kernel)
    assert verdict.reason is Reason.RAISED and "before `import grader`" in verdict.explanation


def test_without_a_compiler_the_verdict_says_what_to_install(monkeypatch):
    if not simgpu.is_simulated():
        pytest.skip("only the simulated GPU needs a C++ compiler")
    monkeypatch.setenv("CXX", "no-such-compiler")
    kernel = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T f(T x, T y) { return y + x + T(0); }"
    )
    verdict = check(exercises.get("jit-add"), kernel)
    assert (verdict.values, verdict.reason) == (Values.ERROR, Reason.RAISED)
    assert "no C++ compiler" in verdict.headline and "no-such-compiler" in verdict.explanation


def test_a_hostile_exception_is_still_told():
    class Hostile(BaseException):
        def __str__(self):
            raise RuntimeError("no")

    def double_on_gpu(values):
        raise Hostile

    verdict = check(HELLO, double_on_gpu)
    assert verdict.reason is Reason.RAISED and "Hostile" in verdict.headline


def test_a_long_message_is_cut():
    def double_on_gpu(values):
        raise ValueError("x" * 10_000)

    assert len(check(HELLO, double_on_gpu).headline) < 400


def test_an_interrupt_passes_through_and_says_what_ran():
    stopped = cell("def double_on_gpu(values):\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt) as caught:
        check(HELLO, stopped)
    message = str(caught.value)
    assert re.match(r"stopped while double_on_gpu\(\[.*\]\), float32 ran \(0 s\): does a loop", message)
    assert message.endswith("\nyour line 2: raise KeyboardInterrupt")
    assert caught.value.__suppress_context__


def jit(text, **keywords):
    return torch.cuda.jiterator._create_jit_fn(f"template <typename T> T f({text}", **keywords)


SCALE = "T x, T alpha) { return alpha * x; }"


@pytest.mark.parametrize(
    "exercise_id, make, words",
    [
        (
            "compile-once",
            lambda: (lambda k: lambda x, alpha: k(x, alpha))(jit(SCALE, alpha=1.0)),
            "Numbers go in by name: `kernel(x, alpha=alpha)`",
        ),
        (
            "compile-once",
            lambda: (lambda k: lambda x, alpha: k(x, alpha=alpha))(jit(SCALE, a=1.0, b=2.0)),
            "The call gives `alpha`; your kernel declares `a`, `b`.",
        ),
        (
            "compile-once",
            lambda: (lambda k: lambda alpha, x: k(x, alpha=alpha))(jit(SCALE, alpha=1.0)),
            "called as the signature says: `scale(x, alpha)`",
        ),
        (
            "jit-saxpy",
            lambda: jit("T x, T y, T alpha) { return alpha * x + y; }", alpha="1.0"),
            "without quotes",
        ),
        ("jit-saxpy", lambda: jit("T x, T y) { return x + y; }"), "your kernel declares no keyword."),
        (
            "jit-add",
            lambda: jit("T x, T y) { T z = x + y; }"),
            "in the C++ text of your kernel. Is there a `return`",
        ),
        (
            "jit-add",
            lambda: jit("T x, T y) { return f(x, y) + y; }"),
            "in the C++ text of your kernel: a function there calls itself",
        ),
    ],
)
def test_what_a_kernel_met_is_told_as_the_kernels(exercise_id, make, words):
    verdict = check(exercises.get(exercise_id), make())
    assert (verdict.values, verdict.reason) == (Values.ERROR, Reason.RAISED)
    assert words in verdict.explanation, verdict


@pytest.mark.parametrize(
    "filename, theirs",
    [
        ("/tmp/ipykernel_12/345.py", True),
        ("<ipython-input-3-abc>", True),
        ("<stdin>", True),
        ("/home/me/answer.py", True),
        (torch.__file__, False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_whose_line_it_is(filename, theirs):
    assert is_learners(filename) is theirs
