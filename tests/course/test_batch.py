"""The batch and its book: which files are hand-ins, what is written when, and what a second start does
again.
"""

import csv
import json
import os
import threading

import pytest

from grader.course import batch, book, grade, release, report
from grader.sandbox import Outcome, Reported, Status
from tests.course.making import EXERCISES, LESSON_1, SOLVED, answer_cell, handin, save, solution

VERDICT = {"values": "PASS", "reason": None, "speed": "NOT_TIMED"}
SETTINGS = grade.Settings()


@pytest.fixture
def sandboxed(monkeypatch):
    """Hand-ins are not run: every answer cell passes, unless its text holds WRONG or DIE. Counts the runs."""
    runs = []

    def run(job, stop=None):
        runs.append(job)
        verdicts = []
        for cell in job.cells:
            if "DIE" in cell.source:
                return Outcome(Status.DIED, "the process ended by itself", verdicts)
            if cell.exercise:
                wrong = {"values": "WRONG", "reason": "value", "speed": "NOT_TIMED"}
                verdict = wrong if "WRONG" in cell.source else VERDICT
                verdicts.append(Reported(cell.index, cell.exercise, verdict, 0.1))
        return Outcome(Status.GRADED, verdicts=verdicts)

    monkeypatch.setattr(grade.sandbox, "run", run)
    return runs


def run_batch(folder, out, **changes):
    handins, _, _ = batch.find(folder, out)
    arguments = {
        "jobs": 2,
        "made_with": "torch 2.13.0",
        "settings": SETTINGS,
        "say": lambda row, kept: None,
    } | changes
    return batch.run(handins, out, EXERCISES, **arguments)


def read_book(out):
    with (out / "gradebook.csv").open(encoding="utf-8", newline="") as file:
        return {row["hand-in"]: row for row in csv.DictReader(file)}


def test_hand_ins_are_found_in_any_depth_and_under_the_names_browsers_give(tmp_path):
    names = ["ada/01.ipynb", "bob/deep/er/x.IPYNB", "carl.ipynb", "dora/01.ipynb.txt", "eve/01.ipynb (1)"]
    for name in [
        *names,
        "ada/.ipynb_checkpoints/01.ipynb",
        "ada/.hidden.ipynb",
        "out/handins/old.ipynb",
        "readme.md",
    ]:
        save(tmp_path / name, handin({}))
    found, others, books = batch.find(tmp_path, tmp_path / "out")
    assert [(f.name, f.learner) for f in found] == list(
        zip(names, ["ada", "bob", "carl", "dora", "eve"], strict=True)
    )
    assert (others, books) == (["readme.md"], [])


def test_a_learners_folder_without_a_notebook_is_a_row(tmp_path, sandboxed):
    (tmp_path / "in/ada").mkdir(parents=True)
    (row,) = run_batch(tmp_path / "in", tmp_path / "out")
    assert (row["hand-in"], row["learner"], row["status"]) == ("ada/", "ada", "empty")


def test_points_come_from_the_syllabus_and_not_from_the_notebook(tmp_path, sandboxed):
    made = handin(SOLVED | {"jit-add": "WRONG"})
    for cell in made["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["points"] = 1000
    save(tmp_path / "in/ada.ipynb", made)
    (row,) = run_batch(tmp_path / "in", tmp_path / "out")
    assert row["max"] == sum(EXERCISES[i].points for i in LESSON_1)
    assert row["score"] == row["max"] - EXERCISES["jit-add"].points
    assert row["jit-add"] == "WRONG/value" and row["jit-saxpy"] == "PASS" and row["hello-gpu"] == ""


def test_points_earned_before_a_death_are_kept_and_the_rest_is_not_reached(tmp_path, sandboxed):
    save(tmp_path / "in/ada.ipynb", handin(SOLVED | {LESSON_1[1]: "DIE"}))
    (row,) = run_batch(tmp_path / "in", tmp_path / "out")
    assert row["status"] == "died" and row["score"] == EXERCISES[LESSON_1[0]].points
    assert row[LESSON_1[1]] == "not reached" and row["max"] == sum(EXERCISES[i].points for i in LESSON_1)


def test_of_two_answer_cells_the_better_one_counts_in_either_order(tmp_path, sandboxed):
    for name, texts in {"a": ("WRONG", "1"), "b": ("1", "WRONG")}.items():
        made = handin(SOLVED | {"jit-add": texts[0]})
        made["cells"].append(answer_cell(made, "jit-add") | {"source": texts[1]})
        save(tmp_path / f"in/{name}.ipynb", made)
    for row in run_batch(tmp_path / "in", tmp_path / "out"):
        assert row["jit-add"] == "PASS" and row["score"] == row["max"]


def test_two_notebooks_of_one_learner_are_two_rows_and_noted(tmp_path, sandboxed):
    for name in ("first", "second"):
        save(tmp_path / f"in/ada/{name}.ipynb", handin(SOLVED))
    rows = run_batch(tmp_path / "in", tmp_path / "out")
    assert [row["notes"] for row in rows] == ["one of 2 notebooks of ada"] * 2


def test_the_book_is_complete_after_every_hand_in(tmp_path, sandboxed):
    for name in "abc":
        save(tmp_path / f"in/{name}.ipynb", handin(SOLVED))
    sizes = []
    run_batch(
        tmp_path / "in",
        tmp_path / "out",
        say=lambda row, kept: sizes.append(len(read_book(tmp_path / "out"))),
    )
    assert sizes == [1, 2, 3]


def test_a_second_start_grades_only_what_is_new_or_changed(tmp_path, sandboxed):
    for name in "abc":
        save(tmp_path / f"in/{name}.ipynb", handin(SOLVED))
    first = run_batch(tmp_path / "in", tmp_path / "out")
    (tmp_path / "out/gradebook.csv").unlink()
    assert run_batch(tmp_path / "in", tmp_path / "out") == first and len(sandboxed) == 3
    assert len(read_book(tmp_path / "out")) == 3, "the gradebook is made again from the kept results"
    save(tmp_path / "in/b.ipynb", handin(SOLVED | {"jit-add": "WRONG"}))
    run_batch(tmp_path / "in", tmp_path / "out")
    assert len(sandboxed) == 4 and read_book(tmp_path / "out")["b.ipynb"]["jit-add"] == "WRONG/value"


@pytest.mark.parametrize("change", [{"settings": grade.Settings(timeout=1)}, {"made_with": "torch 2.14.0"}])
def test_other_limits_or_versions_grade_again(tmp_path, sandboxed, change):
    save(tmp_path / "in/a.ipynb", handin(SOLVED))
    run_batch(tmp_path / "in", tmp_path / "out")
    run_batch(tmp_path / "in", tmp_path / "out", **change)
    assert len(sandboxed) == 2


def test_a_damaged_result_and_a_failure_of_ours_are_graded_again(tmp_path, sandboxed, monkeypatch):
    save(tmp_path / "in/a.ipynb", handin(SOLVED))
    run_batch(tmp_path / "in", tmp_path / "out")
    (result,) = (tmp_path / "out/handins").iterdir()
    result.write_text("{", encoding="utf-8")
    run_batch(tmp_path / "in", tmp_path / "out")
    assert len(sandboxed) == 2
    save(tmp_path / "in/b.ipynb", handin({}))
    with monkeypatch.context() as patch:
        patch.setattr(batch, "judge", lambda *a: 1 / 0)
        rows = run_batch(tmp_path / "in", tmp_path / "out")
    assert [row["status"] for row in rows] == ["graded", "infrastructure"]
    assert "ZeroDivisionError" in rows[1]["notes"]
    assert run_batch(tmp_path / "in", tmp_path / "out")[1]["status"] == "graded"


def test_an_interrupted_batch_keeps_what_is_done(tmp_path, sandboxed):
    for name in "abc":
        save(tmp_path / f"in/{name}.ipynb", handin(SOLVED))

    def interrupt(row, kept):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(tmp_path / "in", tmp_path / "out", say=interrupt, jobs=1)
    assert len(read_book(tmp_path / "out")) == 1


def test_an_earlier_book_among_the_hand_ins_is_not_looked_into(tmp_path, sandboxed):
    save(tmp_path / "in/ada/01.ipynb", handin(SOLVED))
    for earlier in ("in/book", "in/ada/old"):
        run_batch(tmp_path / "in", tmp_path / earlier)
        save(tmp_path / earlier / "copy.ipynb", handin(SOLVED))
    found, others, books = batch.find(tmp_path / "in", tmp_path / "out")
    assert [handin.name for handin in found] == ["ada/01.ipynb"]
    assert (others, books) == ([], ["book", "ada/old"])


def max_of(rows):
    return {row["hand-in"]: row["max"] for row in rows}


def test_an_unreadable_file_counts_as_much_as_the_others_if_they_are_of_one_lesson(tmp_path, sandboxed):
    save(tmp_path / "in/a.ipynb", handin(SOLVED))
    (tmp_path / "in/broken.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "in/empty.ipynb").touch()
    full = sum(EXERCISES[i].points for i in LESSON_1)
    rows = run_batch(tmp_path / "in", tmp_path / "out")
    assert max_of(rows) == {"a.ipynb": full, "broken.ipynb": full, "empty.ipynb": full}
    other = handin({}, release.build(solution(0), EXERCISES))
    save(tmp_path / "in/b.ipynb", other)
    rows = run_batch(tmp_path / "in", tmp_path / "out")
    assert max_of(rows)["broken.ipynb"] is None and max_of(rows)["a.ipynb"] == full
    assert read_book(tmp_path / "out")["broken.ipynb"]["max"] == ""
    (line,) = [report.graded(row, False) for row in rows if row["hand-in"] == "broken.ipynb"]
    assert " of " not in line.split("broken.ipynb")[0]


def ended(folder, out, **arguments):
    """Run a batch in a process that is ended without a word, as by SIGKILL, as soon as a hand-in says END."""
    if (child := os.fork()) == 0:
        try:
            run_batch(folder, out, **arguments)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def ending(sandboxed, monkeypatch):
    """Hand-ins whose text holds END end the batch's own process."""
    run = grade.sandbox.run

    def end(job, stop=None):
        if any("END" in cell.source for cell in job.cells):
            os._exit(9)
        return run(job, stop)

    monkeypatch.setattr(grade.sandbox, "run", end)


def test_a_hand_in_that_ends_the_grader_holds_up_nobody_and_is_told(tmp_path, ending):
    folder, out = tmp_path / "in", tmp_path / "out"
    for name, answers in {"a": {"jit-add": "END"}, "b": SOLVED, "c": SOLVED}.items():
        save(folder / f"{name}.ipynb", handin(answers))
    assert ended(folder, out, jobs=1) == 9
    assert read_book(out) == {}, "the gradebook is there from the start"
    assert ended(folder, out, jobs=1) == 9
    assert set(read_book(out)) == {"b.ipynb", "c.ipynb"}, "what ended it comes after all others"
    rows = run_batch(folder, out)
    assert [row["status"] for row in rows] == ["died", "graded", "graded"]
    assert "ended the grader itself" in rows[0]["notes"] and rows[0]["score"] == 0
    assert rows[0]["max"] == sum(EXERCISES[i].points for i in LESSON_1)
    next((out / "handins").glob("a.ipynb-*.json")).unlink()
    assert ended(folder, out, jobs=1) == 9, "it is run once more, as the note says"
    save(folder / "a.ipynb", handin(SOLVED))
    assert run_batch(folder, out)[0]["status"] == "graded", "another file has another chance"


def test_a_hand_in_that_only_happened_to_be_running_is_graded(tmp_path, ending, monkeypatch):
    save(tmp_path / "in/a.ipynb", handin(SOLVED))
    with monkeypatch.context() as patch:
        patch.setattr(grade.sandbox, "run", lambda job, stop: os._exit(9))
        assert ended(tmp_path / "in", tmp_path / "out") == 9
    (row,) = run_batch(tmp_path / "in", tmp_path / "out")
    assert row["status"] == "graded" and [p.suffix for p in (tmp_path / "out/handins").iterdir()] == [".json"]


def test_a_book_is_written_by_one_batch_at_a_time(tmp_path):
    with book.Book(tmp_path / "out", []), pytest.raises(book.BookBusy), book.Book(tmp_path / "out", []):
        pass
    with book.Book(tmp_path / "out", []):
        pass


def test_eight_threads_lose_no_row(tmp_path, sandboxed):
    for number in range(24):
        save(tmp_path / f"in/{number:02}.ipynb", handin(SOLVED))
    run_batch(tmp_path / "in", tmp_path / "out", jobs=8)
    assert len(read_book(tmp_path / "out")) == 24 and threading.active_count() < 8


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=cmd|' C'!A0", "'=cmd|' C'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@sum", "'@sum"),
        (" =1", "' =1"),
        ("\t=1", "'\t=1"),
        ("a,b", "a,b"),
        ('say "hi"', 'say "hi"'),
        ("two\nlines", "two lines"),
        ("Ada Łovelace", "Ada Łovelace"),
    ],
)
def test_no_cell_of_the_gradebook_is_a_formula_or_breaks_a_line(name, cell):
    text = book.to_csv([{"hand-in": name, "score": -1}], ["hand-in", "score"])
    assert list(csv.reader(text.splitlines()))[1:] == [[cell, "-1"]]


def test_names_that_are_no_unicode_or_very_long_are_graded_too(tmp_path, sandboxed):
    made = save(tmp_path / "in/a.ipynb", handin(SOLVED))
    odd = os.path.join(os.fsencode(tmp_path / "in"), b"\xff\xfe.ipynb")
    os.link(made, odd)
    os.link(made, tmp_path / "in" / ("x" * 240 + ".ipynb"))
    rows = run_batch(tmp_path / "in", tmp_path / "out")
    assert [row["status"] for row in rows] == ["graded"] * 3 and len(read_book(tmp_path / "out")) == 3


def test_the_record_of_a_hand_in_holds_its_verdicts(tmp_path, sandboxed):
    save(tmp_path / "in/ada/01.ipynb", handin(SOLVED))
    run_batch(tmp_path / "in", tmp_path / "out")
    (path,) = (tmp_path / "out/handins").iterdir()
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["row"]["learner"] == "ada" and list(record["exercises"]) == LESSON_1
    assert record["exercises"]["jit-add"]["verdict"] == VERDICT
