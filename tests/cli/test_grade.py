"""`grader grade` over real hand-ins: every one ends in its row, with its own status and score, whatever
the others do.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.course import making
from tests.course.making import EXERCISES, LESSON_1, SOLVED, answer_cell, processes_with, save, with_cell

MAXIMUM = sum(EXERCISES[i].points for i in LESSON_1)
RELEASED = json.loads((Path(__file__).parents[2] / "notebooks/01_first_jit_kernel.ipynb").read_bytes())
KERNEL = "torch.cuda.jiterator._create_jit_fn"

WRONG = {
    "wrong_sign": ("jit-add", f'add = {KERNEL}("template <typename T> T add(T x, T y) {{ return x - y; }}")'),
    "no_template": (
        "jit-saxpy",
        f'saxpy = {KERNEL}("T saxpy(T x, T y, T alpha) {{ return x; }}", alpha=1.0)',
    ),
    "nan_lost": (
        "jit-leaky-relu",
        f'leaky_relu = {KERNEL}("template <typename T> T f(T x, T slope) '
        '{ return x > 0 ? x : (x < 0 ? slope * x : T(0)); }", slope=0.01)',
    ),
    "compiles_each_time": (
        "compile-once",
        "def scale(x, alpha):\n"
        f'    return {KERNEL}(f"template <typename T> T scale(T x) {{{{ return T({{alpha}}) * x; }}}}")(x)',
    ),
}


def handin(answers):
    """The lesson as learners get it, with some answers written."""
    return making.handin(answers, RELEASED)


def grader(*arguments, **environment):
    """Run the command with the C locale, in which file names are hardest."""
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"LC_ALL": "C"} | environment,
        timeout=580,
    )


def read_book(out):
    with (out / "gradebook.csv").open(encoding="utf-8", newline="") as file:
        return {row["hand-in"]: row for row in csv.DictReader(file)}


def all_but(exercise):
    return str(MAXIMUM - EXERCISES[exercise].points)


def before(exercise):
    """The points of a hand-in that is right up to the exercise at which it ends."""
    return str(sum(EXERCISES[i].points for i in LESSON_1[: LESSON_1.index(exercise)]))


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    """A graded folder of twelve hand-ins, and the command's result."""
    folder = tmp_path_factory.mktemp("batch")
    handins, out = folder / "handins", folder / "book"
    right = save(handins / "solution/01.ipynb", handin(SOLVED))
    save(handins / "starter/01.ipynb", handin({}))
    for name, (exercise, source) in WRONG.items():
        save(handins / name / "01.ipynb", handin(SOLVED | {exercise: source}))
    save(handins / "endless/01.ipynb", handin(SOLVED | {"jit-saxpy": "while True: pass"}))
    save(handins / "exits/01.ipynb", handin(SOLVED | {"jit-leaky-relu": "import os; os._exit(0)"}))
    text = right.read_bytes()
    for name, content in {
        "truncated/01.ipynb": text[: len(text) // 2],
        "empty/01.ipynb": b"",
        "renamed/my homework (final).ipynb": text,
        "Łukasz Żółć/レッスン 1 ✓.ipynb": text,
    }.items():
        (handins / name).parent.mkdir()
        (handins / name).write_bytes(content)
    return handins, out, grader("grade", handins, "--out", out, "--timeout", 20)


def test_twelve_hand_ins_end_in_twelve_rows_with_the_right_status_and_score(twelve):
    _, out, done = twelve
    assert done.returncode == 0, done.stderr
    rows = read_book(out)
    graded = {name: (row["status"], row["score"], row["max"]) for name, row in rows.items()}
    full = str(MAXIMUM)
    assert graded == {
        "solution/01.ipynb": ("graded", full, full),
        "starter/01.ipynb": ("graded", "0", full),
        **{f"{name}/01.ipynb": ("graded", all_but(exercise), full) for name, (exercise, _) in WRONG.items()},
        "endless/01.ipynb": ("timeout", before("jit-saxpy"), full),
        "exits/01.ipynb": ("died", before("jit-leaky-relu"), full),
        "truncated/01.ipynb": ("corrupt", "0", full),
        "empty/01.ipynb": ("empty", "0", full),
        "renamed/my homework (final).ipynb": ("graded", full, full),
        "Łukasz Żółć/レッスン 1 ✓.ipynb": ("graded", full, full),
    }


def test_each_exercise_has_its_verdict_in_the_row(twelve):
    rows = read_book(twelve[1])
    assert {rows["starter/01.ipynb"][i] for i in LESSON_1} == {"NOT_ATTEMPTED"}
    assert {rows["solution/01.ipynb"][i] for i in LESSON_1} == {"PASS"}
    reasons = {
        name: rows[f"{name}/01.ipynb"][exercise].split("/")[1] for name, (exercise, _) in WRONG.items()
    }
    assert reasons == {
        "wrong_sign": "value",
        "no_template": "parse",
        "nan_lost": "nan_mask",
        "compiles_each_time": "recompiled",
    }


def test_the_command_says_what_happened_without_a_traceback(twelve):
    done = twelve[2]
    assert "12 hand-ins: 1 corrupt, 1 died, 1 empty, 8 graded, 1 timeout" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_each_hand_in_has_a_record_with_its_verdicts(twelve):
    records = [json.loads(path.read_bytes()) for path in (twelve[1] / "handins").iterdir()]
    assert len(records) == 12
    solution = next(record for record in records if record["row"]["hand-in"] == "solution/01.ipynb")
    assert all(solution["exercises"][i]["verdict"]["seed"] is not None for i in LESSON_1)
    assert solution["made_with"]["torch"]


def test_started_again_it_grades_nothing_twice(twelve):
    handins, out, _ = twelve
    before = (out / "gradebook.csv").read_bytes()
    written = {path: path.stat().st_mtime_ns for path in (out / "handins").iterdir()}
    done = grader("grade", handins, "--out", out, "--timeout", 20)
    assert done.stdout.count("(already graded)") == 12 and "12 already graded" in done.stdout
    assert (out / "gradebook.csv").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in (out / "handins").iterdir()} == written


def test_a_batch_that_is_killed_goes_on_where_it_stopped_and_leaves_no_process(tmp_path):
    for name in ("a", "b"):
        save(tmp_path / f"in/{name}.ipynb", handin(SOLVED))
    save(tmp_path / "in/c.ipynb", handin({"jit-add": "while True: pass"}))
    command = [
        sys.executable,
        "-m",
        "grader.cli",
        "grade",
        tmp_path / "in",
        "--out",
        tmp_path / "out",
        "--jobs",
        "1",
    ]
    environment = os.environ | {"GRADER_TEST": str(tmp_path)}
    batch = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment)
    assert [batch.stdout.readline().split()[0] for _ in range(2)] == ["graded", "graded"]
    batch.send_signal(signal.SIGKILL)
    batch.wait()
    batch.stdout.close()
    deadline = time.monotonic() + 10
    while left := processes_with("GRADER_TEST", str(tmp_path)):
        assert time.monotonic() < deadline, f"left running: {left}"
        time.sleep(0.1)
    assert set(read_book(tmp_path / "out")) == {"a.ipynb", "b.ipynb"}
    save(tmp_path / "in/c.ipynb", handin({}))
    done = grader("grade", tmp_path / "in", "--out", tmp_path / "out")
    assert "2 already graded" in done.stdout and len(read_book(tmp_path / "out")) == 3


def test_more_of_what_breaks_graders(tmp_path):
    """Each of these has cost someone a batch, a right answer or a score; the right ones among them keep
    theirs.
    """
    one_cell_gone = handin(SOLVED)
    answer_cell(one_cell_gone, "jit-add")["cell_type"] = "markdown"
    doubled = handin(SOLVED)
    doubled["cells"].append(answer_cell(doubled, "jit-add"))
    endless = f'add = {KERNEL}("template <typename T> T add(T x, T y) {{ while (true) {{}} return x; }}")'
    neighbour = f"open({str(tmp_path / 'in/warns/01.ipynb')!r}, 'w').close()"
    full = str(MAXIMUM)
    made = {
        "markdown": (one_cell_gone, ("missing_cell", all_but("jit-add"))),
        "doubled": (doubled, ("graded", full)),
        "asks": (with_cell(handin(SOLVED), "jit-saxpy", "input()"), ("needs_input", full)),
        "warns": (
            with_cell(handin(SOLVED), "jit-add", "import warnings; warnings.warn('x')"),
            ("graded", full),
        ),
        "later_error": (with_cell(handin(SOLVED), "jit-saxpy", "1/0"), ("graded", full)),
        "exits_in_order": (with_cell(handin(SOLVED), "jit-add", "raise SystemExit"), ("graded", full)),
        "neighbour": (with_cell(handin(SOLVED), "jit-saxpy", neighbour), ("graded", full)),
        "=cmd, name": (handin(SOLVED), ("graded", full)),
        "unrelated": (
            {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5},
            ("missing_cell", "0"),
        ),
        "kernel_loops": (handin(SOLVED | {"jit-add": endless}), ("timeout", "0")),
    }
    for name, (notebook, _) in made.items():
        save(tmp_path / f"in/{name}/01.ipynb", notebook)
    windows = json.dumps(handin(SOLVED), indent=1).replace("\n", "\r\n").replace("\\n", "\\r\\n")
    (tmp_path / "in/windows.ipynb").write_bytes(b"\xef\xbb\xbf" + windows.encode())
    done = grader("grade", tmp_path / "in", "--out", tmp_path / "out", "--timeout", 20)
    assert "Traceback" not in done.stdout + done.stderr
    rows = read_book(tmp_path / "out")
    graded = {name: (row["status"], row["score"]) for name, row in rows.items()}
    wanted = {f"{name}/01.ipynb": result for name, (_, result) in made.items()}
    wanted["'=cmd, name/01.ipynb"] = wanted.pop("=cmd, name/01.ipynb")
    assert graded == wanted | {"windows.ipynb": ("graded", full)}
