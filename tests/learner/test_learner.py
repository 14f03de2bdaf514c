"""What a learner calls, in notebooks and in plain scripts."""

import os
import subprocess
import sys
import traceback

import pytest

import grader
from grader import learner, progress_file
from grader.check import Reason, Values, Verdict
from grader.display import Rendered
from grader.exercises import UnknownExercise


@pytest.fixture(autouse=True)
def progress(tmp_path, monkeypatch):
    """Fresh progress, and problems whose hints have not been asked for."""
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress.json"))
    learner._problem.cache_clear()
    return progress_file.current()


@pytest.fixture
def verdict_of(monkeypatch):
    """Decide what the next checks find: a Verdict, or an exception that the check lets through."""

    def decide(outcome):
        def check(exercise, candidate, seed=None):
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(learner, "check", check)

    return decide


PASS = Verdict("jit-add", Values.PASS)
WRONG = Verdict("jit-add", Values.WRONG, Reason.VALUE, headline="add([1], [2]), float32", seed=3)
OPEN = Verdict("jit-add", Values.NOT_ATTEMPTED, Reason.NOT_ATTEMPTED, headline="add is not written yet")


def test_an_exercise_shows_its_card_and_prints_nothing_by_itself(capsys):
    problem = grader.exercise("jit-add")
    assert repr(problem).startswith("jit-add ") and "hint() 3 left" in repr(problem)
    assert problem._repr_mimebundle_()["text/plain"] == repr(problem)
    assert capsys.readouterr().out == ""


def test_unknown_exercise_names_near_ones_and_hides_our_frames():
    with pytest.raises(UnknownExercise, match="jit-saxpy") as caught:
        grader.exercise("jit-sxpy")
    assert caught.value._render_traceback_() == [f"UnknownExercise: {caught.value}"]


def test_check_returns_the_verdict_and_its_rendering(verdict_of):
    verdict_of(PASS)
    checked = grader.exercise("jit-add").check(print)
    assert checked.verdict is PASS and checked.passed and checked
    assert repr(checked).startswith("PASS   jit-add   2 points")
    assert checked._repr_mimebundle_()["text/html"].startswith("<div")


def test_a_failed_check_is_false_and_shows_its_seed(verdict_of):
    verdict_of(WRONG)
    checked = grader.exercise("jit-add").check(print)
    assert not checked.passed and not checked
    assert "seed=3" in repr(checked)


def test_the_seed_reaches_the_check(monkeypatch):
    seen = []
    monkeypatch.setattr(learner, "check", lambda exercise, candidate, seed=None: seen.append(seed) or WRONG)
    grader.exercise("jit-add").check(print)
    grader.exercise("jit-add").check(print, seed=3)
    assert seen == [None, 3]


@pytest.mark.parametrize("seed", ["x", -1, 2.5, True])
def test_a_seed_that_is_none_is_told_so(seed, verdict_of, progress):
    verdict_of(PASS)
    shown = grader.exercise("jit-add").check(print, seed=seed)
    assert isinstance(shown, Rendered) and f"whole number, not negative; this one is {seed!r}" in shown.text
    assert progress.records() == {}


def test_checks_are_counted_and_a_pass_is_kept(verdict_of, progress):
    for outcome in (WRONG, PASS, WRONG):
        verdict_of(outcome)
        grader.exercise("jit-add").check(print)
    record = progress.records()["jit-add"]
    assert (record.attempts, record.passed) == (3, True)


def test_an_untouched_starter_is_no_attempt(verdict_of, progress):
    verdict_of(OPEN)
    assert repr(grader.exercise("jit-add").check(None)).startswith("NOT ATTEMPTED   jit-add")
    assert progress.records() == {}


def test_check_without_an_answer_says_how_to_call_it(progress):
    shown = grader.exercise("jit-saxpy").check()
    assert isinstance(shown, Rendered) and "check(saxpy)" in shown.text
    assert progress.records() == {}


def test_an_interrupted_check_leaves_the_progress_alone(verdict_of, progress):
    verdict_of(PASS)
    grader.exercise("jit-add").check(print)
    before = progress.path.read_bytes()
    verdict_of(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        grader.exercise("jit-add").check(print)
    assert progress.path.read_bytes() == before


def test_an_interrupt_keeps_its_message_and_not_our_stack(verdict_of):
    for stop, said in ((KeyboardInterrupt("stopped while f ran"), "stopped while f ran"),
                       (KeyboardInterrupt(), "the check was stopped")):  # fmt: skip
        verdict_of(stop)
        with pytest.raises(KeyboardInterrupt, match=said) as caught:
            grader.exercise("jit-add").check(print)
        assert caught.value.__suppress_context__
        assert len(traceback.extract_tb(caught.value.__traceback__)) == 2  # this line, and check


def test_a_damaged_progress_file_does_not_stop_a_check(verdict_of, progress, capsys):
    progress.path.write_text("{not json")
    verdict_of(PASS)
    assert grader.exercise("jit-add").check(print).passed
    assert "damaged" in capsys.readouterr().out


def test_hints_come_one_after_another_also_through_a_new_call(progress):
    shown = [grader.exercise("jit-add").hint().text for _ in range(5)]
    assert [text.split("\n")[0].split("   ")[1] for text in shown] == [
        "hint 1 of 3",
        "hint 2 of 3",
        "hint 3 of 3",
        "all 3 hints",
        "all 3 hints",
    ]
    assert "hint() 0 left" in repr(grader.exercise("jit-add"))
    assert progress.records()["jit-add"].hints == 3


def test_solution_is_shown_and_noted(progress):
    shown = grader.exercise("jit-add").solution()
    assert "_create_jit_fn" in shown.text
    assert progress.records()["jit-add"].solution_seen


def test_progress_lists_every_exercise_and_what_is_done(verdict_of):
    verdict_of(PASS)
    grader.exercise("jit-add").check(print)
    text = grader.progress().text
    assert "1 of" in text.split("\n")[0]
    assert all(exercise_id in text for exercise_id in grader.exercises.ids())


def test_progress_and_doctor_stay_functions_after_use():
    for _ in range(2):
        assert callable(grader.progress) and callable(grader.doctor)
        grader.progress()


def test_a_script_prints_each_result_once(verdict_of, capsys):
    verdict_of(PASS)
    for call in (lambda p: p.check(print), lambda p: p.check(), lambda p: p.hint(), lambda p: p.solution()):
        shown = call(grader.exercise("jit-add"))
        assert capsys.readouterr().out == repr(shown) + "\n"


def test_a_notebook_shows_results_itself_so_nothing_is_printed(verdict_of, capsys, monkeypatch):
    from IPython.core.interactiveshell import InteractiveShell

    verdict_of(PASS)
    monkeypatch.setattr("IPython.get_ipython", lambda: InteractiveShell)
    problem = grader.exercise("jit-add")
    problem.check(print), problem.hint(), problem.solution(), grader.progress()
    assert capsys.readouterr().out == ""


def test_an_ascii_terminal_is_no_obstacle(tmp_path):
    code = "import grader; grader.exercise('jit-add').solution()"  # which has a dot in mid-line
    env = {
        "PYTHONIOENCODING": "ascii",
        "GRADER_PROGRESS": str(tmp_path / "é"),
        "GRADER_GPU": "sim",
        "PATH": "",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "jit-add" in done.stdout and " ? " in done.stdout


def test_errors_of_ours_are_short():
    try:
        grader.exercise("nothing-like-it")
    except UnknownExercise as error:
        assert len(traceback.format_exception_only(error)) == 1
