"""Answers are found by metadata, and what is missing is named."""

import pytest

from grader.course import answers
from tests.course.making import EXERCISES, LESSON_1, SOLVED, answer_cell, code, handin, notebook, with_cell


def test_setup_answers_and_own_cells_are_run_in_order_and_nothing_else():
    made = with_cell(handin(SOLVED), "jit-saxpy", "helper = 1")
    found = answers.find(made, EXERCISES)
    assert [cell.exercise for cell in found.cells] == [None, "jit-add", None, *LESSON_1[1:]]
    assert found.cells[0].source == "import torch"
    assert found.asked == tuple(LESSON_1)
    assert found.missing == () and found.notes == ()


def test_cells_after_the_last_answer_are_not_run():
    made = handin(SOLVED)
    made["cells"].append(code("late", "1/0"))
    assert all(cell.source != "1/0" for cell in answers.find(made, EXERCISES).cells)


def test_position_and_ids_of_cells_do_not_matter():
    made = handin(SOLVED)
    made["cells"].reverse()
    for cell in made["cells"]:
        del cell["id"]
    assert answers.find(made, EXERCISES).missing == ()


def test_a_deleted_answer_is_missing_and_still_counts():
    made = handin(SOLVED)
    made["cells"].remove(answer_cell(made, "jit-add"))
    found = answers.find(made, EXERCISES)
    assert found.missing == ("jit-add",) and found.asked == tuple(LESSON_1)


def test_an_answer_turned_into_markdown_is_missing_and_said_to_be_so():
    made = handin(SOLVED)
    answer_cell(made, "jit-add")["cell_type"] = "markdown"
    found = answers.find(made, EXERCISES)
    assert found.missing == ("jit-add",)
    assert found.notes == ("the answer cell of jit-add is a markdown cell, not a code cell",)


def test_a_doubled_cell_is_run_twice_and_noted():
    made = handin(SOLVED)
    made["cells"].append(answer_cell(made, "jit-add"))
    found = answers.find(made, EXERCISES)
    assert [cell.exercise for cell in found.cells].count("jit-add") == 2
    assert found.notes == ("2 answer cells for jit-add; the best one counts",)


def test_an_unknown_exercise_is_noted_and_not_run():
    found = answers.find(notebook([code("a", "x = 1", "answer", "no-such")]), EXERCISES)
    assert found.cells == () and "does not exist: 'no-such'" in found.notes[0]


def test_nbgraders_metadata_will_do_where_ours_was_stripped():
    made = handin(SOLVED)
    for cell in made["cells"]:
        cell["metadata"].pop("grader", None)
    found = answers.find(made, EXERCISES)
    assert found.missing == () and found.asked == tuple(LESSON_1)


def test_without_a_claimed_lesson_the_answers_say_what_counts():
    made = handin({})
    del made["metadata"]["grader"]
    assert answers.find(made, EXERCISES).asked == tuple(LESSON_1)


def test_claiming_another_lesson_does_not_shrink_what_counts():
    made = handin(SOLVED)
    made["metadata"]["grader"]["lesson"] = 0
    found = answers.find(made, EXERCISES)
    assert set(LESSON_1) < set(found.asked) and "says it is lesson 0" in found.notes[0]


@pytest.mark.parametrize("junk", [None, [], 3, "x", {"role": ["answer"]}, {"role": "answer", "exercise": 3}])
def test_junk_in_metadata_is_no_answer_and_no_error(junk):
    cell = code("a", "x = 1")
    cell["metadata"] = {"grader": junk, "nbgrader": junk}
    made = notebook([cell])
    made["metadata"] = junk
    assert all(found.exercise is None for found in answers.find(made, EXERCISES).cells)
    cell["metadata"] = junk
    assert answers.find(notebook([cell]), EXERCISES).asked == tuple(LESSON_1)
