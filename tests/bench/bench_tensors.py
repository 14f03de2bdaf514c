"""What simulated tensors, and the grader around plain ones, cost: `python -m tests.bench.bench_tensors`.

"On" and "off" are the simulated GPU switched on and off in one process, in turn.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable

import torch

import grader
from grader import exercises, simgpu

from .measure import Table, alternate, many, median_difference, seconds_of

_REPEAT = 500


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def small_ops(table: Table) -> None:
    host = torch.ones(8)
    device = host.cuda()
    for what, op in {
        "x + x": lambda x: x + x,
        "x * 2": lambda x: x * 2,
        "x[1:]": lambda x: x[1:],
        "x.sum()": lambda x: x.sum(),
        "x.cpu()": lambda x: x.cpu(),
    }.items():
        ours, theirs = alternate(
            many(lambda op=op: op(device), _REPEAT), many(lambda op=op: op(host), _REPEAT)
        )
        extra = median_difference(ours, theirs) / _REPEAT
        table.row(f"simulated {what}, 8 elements, over a CPU tensor", extra * 1e6, "us", 20)


def grader_on_and_off(table: Table) -> None:
    x, leaf = torch.ones(8), torch.ones(8, requires_grad=True)

    def backward() -> None:
        (leaf * x).backward(x)
        leaf.grad = None

    for what, call in {
        "x + x": lambda: x + x,
        "x.shape": lambda: x.shape,
        "x.device": lambda: x.device,
        "torch.zeros(3)": lambda: torch.zeros(3),
        "torch.tensor([1.0])": lambda: torch.tensor([1.0]),
        "x.to(torch.float64)": lambda: x.to(torch.float64),
        'x.to("cpu")': lambda: x.to("cpu"),
        "a custom autograd.Function's apply": lambda: Square.apply(leaf),
        "backward()": backward,
    }.items():
        table.row(f"CPU {what}, grader on over off", _on_over_off(call) * 1e6, "us", 1)


def _on_over_off(call: Callable[[], object]) -> float:
    """Seconds that a call takes longer while the simulated GPU is on."""
    on, off = [], []
    for _ in range(100):
        simgpu.deactivate()
        off.append(_warm(call))
        simgpu.activate("sim")
        on.append(_warm(call))
    return median_difference(on, off) / _REPEAT


def _warm(call: Callable[[], object]) -> float:
    call()
    return seconds_of(many(call, _REPEAT))


def checks(table: Table) -> None:
    for exercise in exercises.all():
        answer = _answer(exercise.solution, exercise.entry)
        _check(exercise.id, answer)
        unchanged = min(_check(exercise.id, answer) for _ in range(3))
        table.row(f"{exercise.id}: check, answer unchanged", unchanged, "s", 1)
        edited = min(_check(exercise.id, _edited(exercise)) for _ in range(3))
        table.row(f"{exercise.id}: check, answer edited", edited, "s", 2)


def _answer(source: str, entry: str) -> object:
    names = {"torch": torch}
    exec(compile(source, "<answer>", "exec"), names)
    return names[entry]


def _edited(exercise: exercises.Exercise) -> object:
    """The solution anew; a kernel in it has a line that no kernel had before, so that it compiles."""
    line = f"T edited_{time.time_ns()} = x;"
    return _answer(exercise.solution.replace("{ return", f"{{ {line} return"), exercise.entry)


def _check(exercise_id: str, answer: object) -> float:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        problem = grader.exercise(exercise_id)
        seconds = seconds_of(lambda: problem.check(answer))
    if "PASS" not in said.getvalue():
        raise SystemExit(f"{exercise_id}: the solution does not pass:\n{said.getvalue()}")
    return seconds


def main() -> int:
    simgpu.activate("sim")
    torch.set_num_threads(2)
    table = Table("Simulated tensors, and plain ones beside them")
    small_ops(table)
    grader_on_and_off(table)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRADER_PROGRESS"] = os.path.join(folder, "progress.json")
        checks(table)
    return 0 if table.all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
