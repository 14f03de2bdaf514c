"""Finding the answers in a hand-in: by cell metadata, never by position or file name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.course import nbfile
from grader.sandbox import Cell

_NOT_RUN = {"demo", "check", "claim", "predict", "card", "text"}


@dataclass(frozen=True)
class Handin:
    """What a notebook holds for grading.

    cells: the code cells to run, in order: set-up, answers, and cells that the learner added, up to the last
    answer. asked: ids of all exercises that count, in course order: those of the lesson that the notebook's
    metadata claims and of every lesson of which it holds an answer. missing: the asked ones without an answer
    cell. notes: for the instructor.
    """

    cells: tuple[Cell, ...]
    asked: tuple[str, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())


def find(notebook: dict, exercises: Mapping[str, object]) -> Handin:
    """Pick from `notebook` (as `nbfile.read` returns it) what is to be run. `exercises`: all of the
    course, by id.
    """
    cells: list[Cell] = []
    notes: list[str] = []
    named: list[str] = []
    last_answer = 0
    for index, cell in enumerate(notebook["cells"]):
        answers = _answers(cell)
        if answers is not None and answers not in exercises:
            notes.append(f"cell {index + 1} answers an exercise that does not exist: {answers[:60]!r}")
            continue
        if answers is not None:
            named.append(answers)
        if cell.get("cell_type") != "code":
            if answers is not None:
                kind = str(cell.get("cell_type"))[:20]
                notes.append(f"the answer cell of {answers} is a {kind} cell, not a code cell")
            continue
        if answers is not None or _role(cell) not in _NOT_RUN:
            cells.append(Cell(index, nbfile.source(cell), answers))
        if answers is not None:
            last_answer = index
    found = [cell.exercise for cell in cells if cell.exercise]
    twice = [i for i in dict.fromkeys(found) if found.count(i) > 1]
    notes += [f"{found.count(i)} answer cells for {i}; the best one counts" for i in twice]
    asked = _asked(notebook, named, exercises, notes)
    return Handin(
        cells=tuple(cell for cell in cells if cell.index <= last_answer) if found else (),
        asked=asked,
        missing=tuple(i for i in asked if i not in found),
        notes=tuple(notes),
    )


def _role(cell: dict) -> object:
    role = nbfile.metadata(cell, "grader").get("role")
    return role if isinstance(role, str) else None


def _answers(cell: dict) -> str | None:
    """The id of the exercise that this cell answers; nbgrader's own key is the fallback where ours was
    stripped.
    """
    if _role(cell) == "answer":
        exercise = nbfile.metadata(cell, "grader").get("exercise")
    else:
        nbgrader = nbfile.metadata(cell, "nbgrader")
        ours_is_gone = _role(cell) is None and nbgrader.get("solution") is True
        exercise = nbgrader.get("grade_id") if ours_is_gone else None
    return exercise if isinstance(exercise, str) else None


def _asked(
    notebook: dict, named: list[str], exercises: Mapping[str, object], notes: list[str]
) -> tuple[str, ...]:
    lessons = {exercises[i].lesson for i in named}
    claimed = nbfile.metadata(notebook, "grader").get("lesson")
    if isinstance(claimed, int) and any(ex.lesson == claimed for ex in exercises.values()):
        if lessons - {claimed}:
            notes.append(
                f"says it is lesson {claimed}, holds answers of lessons {sorted(lessons)}; all of them count"
            )
        lessons.add(claimed)
    return tuple(i for i, ex in exercises.items() if ex.lesson in lessons)
