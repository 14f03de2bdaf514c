"""The lessons in solutions/ keep the course's form, and hold the answers that the exercises name."""

import re
from pathlib import Path

import nbformat
import pytest

from grader import exercises

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
LESSONS = {path.name: nbformat.read(path, as_version=4) for path in sorted(SOLUTIONS.glob("*.ipynb"))}
ROLES = {"setup", "answer", "check", "text", "demo", "claim", "predict", "card"}


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def of_exercise(notebook, role):
    return {
        cell.metadata.grader.get("exercise"): cell
        for cell in notebook.cells
        if cell.metadata.grader.role == role
    }


def test_there_is_one_lesson_for_each_number_that_has_exercises():
    assert sorted(nb.metadata.grader.lesson for nb in LESSONS.values()) == sorted(exercises.by_lesson())


@pytest.fixture(params=LESSONS, ids=str)
def lesson(request):
    return LESSONS[request.param]


def test_every_cell_has_a_role(lesson):
    assert {cell.metadata.grader.role for cell in lesson.cells} <= ROLES


def test_each_exercise_has_its_card_its_answer_and_its_check_in_this_order(lesson):
    where = {cell.id: i for i, cell in enumerate(lesson.cells)}
    wanted = [exercise.id for exercise in exercises.by_lesson()[lesson.metadata.grader.lesson]]
    card, answer, check = (of_exercise(lesson, role) for role in ("card", "answer", "check"))
    assert list(card) == list(answer) == list(check) == wanted
    for name in wanted:
        assert where[card[name].id] < where[answer[name].id] < where[check[name].id]


def test_the_answers_are_those_of_the_exercises(lesson):
    for name, cell in of_exercise(lesson, "answer").items():
        marked = re.search(r"### BEGIN SOLUTION\n(.*)\n### END SOLUTION", cell.source, re.DOTALL)
        assert marked.group(1).strip() == exercises.get(name).solution.strip()


def test_a_code_cell_fits_on_a_screen(lesson):
    for cell in code_cells(lesson):
        assert len(cell.source.splitlines()) <= 15, cell.id


def test_a_question_comes_before_the_cell_that_answers_it(lesson):
    roles = [cell.metadata.grader.role for cell in code_cells(lesson)]
    assert "predict" in roles
    for asked, then in zip(roles, [*roles[1:], "nothing"], strict=True):
        assert asked != "predict" or then in ("demo", "claim")


def test_a_lesson_says_first_what_one_can_do_afterwards_and_ends_with_a_recap(lesson):
    texts = [cell.source for cell in lesson.cells if cell.cell_type == "markdown"]
    assert "you can" in texts[0]
    assert any(text.startswith("## Recap") for text in texts[-2:])
    assert any("**Insight:" in text for text in texts)


def test_the_stored_outputs_are_of_one_run_without_an_error(lesson):
    cells = code_cells(lesson)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [cell.id for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not [cell.id for cell in cells for output in cell.outputs if output.get("name") == "stderr"]


def test_every_answer_passes_its_check_in_the_stored_run(lesson):
    for name, cell in of_exercise(lesson, "check").items():
        assert cell.outputs[0].data["text/plain"].startswith(f"PASS   {name} "), name


def test_a_lesson_holds_no_code_for_machines_without_a_gpu(lesson):
    for cell in code_cells(lesson):
        assert "is_available" not in cell.source and "is_simulated" not in cell.source, cell.id
