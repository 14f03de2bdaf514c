"""`grader check`, and what the command says when it is used wrongly."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from grader import cli
from grader.check import Reason, Speed, Values, Verdict
from grader.course import grade
from grader.sandbox import Outcome, Reported, Status
from tests.course.making import EXERCISES, LESSON_1, SOLVED, handin, save, solution

MAXIMUM = sum(EXERCISES[i].points for i in LESSON_1)


def grader(*arguments):
    done = CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done


def test_a_solution_passes(tmp_path):
    done = grader("check", save(tmp_path / "01.ipynb", solution()))
    assert done.exit_code == 0
    assert f"graded   {MAXIMUM} of {MAXIMUM} points" in done.stdout
    assert done.stdout.count("PASS") == len(LESSON_1)


def test_a_starter_is_not_attempted_and_no_traceback_is_shown(tmp_path):
    done = grader("check", save(tmp_path / "01.ipynb", handin({})))
    assert done.exit_code == 1
    for i in LESSON_1:
        assert any(line.split()[:2] == [i, "NOT_ATTEMPTED"] for line in done.stdout.splitlines())
    assert "Traceback" not in done.output


def test_a_wrong_answer_is_explained_below_the_table(tmp_path):
    wrong = SOLVED["jit-add"].replace("x + y", "x - y")
    done = grader("check", save(tmp_path / "01.ipynb", handin(SOLVED | {"jit-add": wrong})))
    table, _, told = done.stdout.partition("WRONG (value)")
    assert done.exit_code == 1 and "WRONG/value" in table and "expected" in told


@pytest.fixture
def verdicts(monkeypatch):
    """Hand-ins are not run: the sandbox reports the verdicts put into this dict, PASS for all others."""
    given = {}

    def run(job, stop=None):
        found = [
            given.get(cell.exercise) or Verdict(cell.exercise, Values.PASS)
            for cell in job.cells
            if cell.exercise
        ]
        reported = [Reported(n, verdict.exercise, verdict.to_json(), 0.1) for n, verdict in enumerate(found)]
        return Outcome(Status.GRADED, verdicts=reported)

    monkeypatch.setattr(grade.sandbox, "run", run)
    return given


@pytest.mark.parametrize(
    ("speed", "plain", "strict"),
    [(Speed.FAST, 0, 0), (Speed.NOT_TIMED, 0, 1), (Speed.INCONCLUSIVE, 0, 1), (Speed.SLOW, 1, 1)],
)
def test_speed_counts_as_asked(tmp_path, verdicts, speed, plain, strict):
    path = save(tmp_path / "01.ipynb", handin(SOLVED))
    verdicts.update({i: Verdict(i, Values.PASS, speed=Speed.FAST) for i in LESSON_1})
    verdicts["jit-add"] = Verdict("jit-add", Values.PASS, speed=speed)
    done = grader("check", path)
    assert done.exit_code == plain and "--require-speed" not in done.stdout
    done = grader("check", "--require-speed", path)
    assert done.exit_code == strict
    assert ("--require-speed asks for FAST" in done.stdout) == (plain == 0 and strict == 1)


def test_speed_that_is_asked_for_and_not_timed_is_said_in_one_line(tmp_path, verdicts):
    done = grader("check", "--require-speed", save(tmp_path / "01.ipynb", handin(SOLVED)))
    assert done.exit_code == 1 and done.stdout.count("PASS") == len(LESSON_1)
    assert done.stdout.splitlines()[-1].startswith("speed was not timed here (the GPU is simulated)")


def test_one_failing_notebook_of_several_fails(tmp_path, verdicts):
    paths = [save(tmp_path / name, handin(SOLVED)) for name in ("a.ipynb", "b.ipynb")]
    assert grader("check", *paths).exit_code == 0
    verdicts["jit-add"] = Verdict("jit-add", Values.UNSAFE, Reason.ALIASED, headline="add(x, y) is x")
    done = grader("check", *paths)
    assert done.exit_code == 1 and done.stdout.count("UNSAFE/aliased") == 2


def test_a_notebook_without_answers_does_not_pass(tmp_path, verdicts):
    made = handin(SOLVED)
    made["cells"] = made["cells"][:2]
    done = grader("check", save(tmp_path / "01.ipynb", made))
    assert done.exit_code == 1 and "no answer cell" in done.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no file"),
        ("", "is not a notebook: the file is empty"),
        ("{", "is not a notebook: the file is not valid"),
    ],
)
def test_what_is_no_notebook_is_a_usage_error_in_one_sentence(tmp_path, content, says):
    path = tmp_path / "01.ipynb"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    done = grader("check", path)
    assert done.exit_code == 2 and says in done.stderr and done.stdout == ""
    assert done.stderr.count("\n") == 1 and str(path) in done.stderr


def test_a_broken_notebook_does_not_keep_the_next_ones_from_being_checked(tmp_path, verdicts):
    a, b, c = (save(tmp_path / f"{name}.ipynb", handin(SOLVED)) for name in "abc")
    b.write_text("{", encoding="utf-8")
    done = grader("check", a, b, c)
    assert done.exit_code == 2 and done.stdout.count("graded   ") == 2
    assert done.stderr.startswith(f"grader: {b} is not a notebook") and str(c) in done.stdout


@pytest.mark.parametrize("cxx", ["/nope", sys.executable])
def test_without_a_compiler_nothing_is_checked_or_graded_and_the_fix_is_said(tmp_path, monkeypatch, cxx):
    path = save(tmp_path / "in/01.ipynb", handin(SOLVED))
    monkeypatch.setenv("CXX", cxx)
    for arguments in (("check", path), ("grade", path.parent, "--out", tmp_path / "out")):
        done = grader(*arguments)
        assert (done.exit_code, done.stdout) == (2, "") and done.stderr.count("\n") == 1
        assert "C++ compiler" in done.stderr and "unset CXX" in done.stderr
    assert not (tmp_path / "out").exists()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt install g++" in grader("check", path).stderr


def test_results_among_the_hand_ins_themselves_are_a_usage_error(tmp_path):
    save(tmp_path / "01.ipynb", handin(SOLVED))
    assert grader("grade", tmp_path, "--out", tmp_path).exit_code == 2


def test_a_folder_is_a_usage_error(tmp_path):
    done = grader("check", tmp_path)
    assert done.exit_code == 2 and "is a folder" in done.stderr


def test_nothing_to_grade_is_said_in_one_sentence(tmp_path):
    done = grader("grade", tmp_path, "--out", tmp_path / "out")
    assert done.exit_code == 2 and done.stderr == f"grader: there is no notebook in {tmp_path}\n"
    done = grader("grade", tmp_path / "none", "--out", tmp_path / "out")
    assert done.exit_code == 2 and done.stderr == f"grader: there is no folder {tmp_path / 'none'}\n"


def test_no_notebook_named_is_a_usage_error():
    assert grader("check").exit_code == 2
    assert grader("no-such-command").exit_code == 2


def test_release_check_names_what_drifted(tmp_path, monkeypatch):
    from grader import exercises

    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    for lesson in exercises.by_lesson():
        save(tmp_path / f"solutions/{lesson:02}.ipynb", solution(lesson))
    assert grader("release", "--check").exit_code == 1
    assert grader("release").exit_code == 0
    assert grader("release").stdout == "nothing has changed\n"
    done = grader("release", "--check")
    assert (done.exit_code, done.stdout) == (0, "")
    path = tmp_path / "notebooks/01.ipynb"
    path.write_text(
        path.read_text(encoding="utf-8").replace("import torch", "import torcH", 1), encoding="utf-8"
    )
    done = grader("release", "--check")
    assert done.exit_code == 1
    assert done.stdout.startswith(
        "notebooks/01.ipynb: cell 'setup' (number 2) differs: line 1 is 'import torcH'"
    )


def test_release_names_the_answer_that_it_would_overwrite(tmp_path, monkeypatch):
    from grader import exercises

    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    for lesson in exercises.by_lesson():
        save(tmp_path / f"solutions/{lesson:02}.ipynb", solution(lesson))
    save(tmp_path / "notebooks/01.ipynb", handin({"jit-add": "add = mine"}))
    done = grader("release")
    assert done.exit_code == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("notebooks/01.ipynb: cell 'answer-jit-add'") and "--force" in done.stderr
    assert not (tmp_path / "notebooks/00.ipynb").exists()
    assert grader("release", "--force").exit_code == 0 and grader("release", "--check").exit_code == 0


def test_release_refuses_a_broken_solution_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    made = solution()
    made["cells"][3]["source"] = "add = 1"
    save(tmp_path / "solutions/01.ipynb", made)
    done = grader("release")
    assert (
        done.exit_code == 1
        and "answer-jit-add" in done.stderr
        and not list((tmp_path / "notebooks").iterdir())
    )


def test_progress_prints_the_table():
    done = grader("progress")
    assert done.exit_code == 0 and "your progress" in done.stdout and "jit-add" in done.stdout


def test_lab_opens_jupyterlab_on_the_notebooks(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(cli.os, "execv", lambda program, arguments: started.append(arguments))
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    assert grader("lab", "--no-browser", "--port=9999").exit_code == 0
    assert started[0][1:] == ["-m", "jupyterlab", str(tmp_path / "notebooks"), "--no-browser", "--port=9999"]


def test_importing_the_command_needs_nothing_that_only_posix_has():
    source = "import sys, grader; sys.modules.update(fcntl=None, resource=None, pwd=None)\n"
    source += "import grader.cli, grader.course.batch, grader.sandbox"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
