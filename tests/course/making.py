"""Notebooks for the tests: a small lesson 1 made from the syllabus, and hand-ins made from its released
form.
"""

import json
from copy import deepcopy
from pathlib import Path

import psutil

from grader import exercises
from grader.course import release

EXERCISES = {exercise.id: exercise for exercise in exercises.all()}
LESSON_1 = [exercise.id for exercise in exercises.by_lesson()[1]]
SOLVED = {i: EXERCISES[i].solution for i in LESSON_1}


def code(cell_id: str, source: str, role: str | None = None, exercise: str | None = None) -> dict:
    """A code cell with an output, as it looks after a run."""
    grader = {"role": role, "exercise": exercise} if exercise else {"role": role}
    return {
        "id": cell_id,
        "cell_type": "code",
        "metadata": {"grader": grader} if role else {},
        "source": source,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "ran\n"}],
        "execution_count": 7,
    }


def notebook(cells: list[dict], lesson: int | None = 1) -> dict:
    """A notebook's JSON data."""
    metadata = {"language_info": {"name": "python", "version": "3.11.7"}, "tags": ["kept"]}
    if lesson is not None:
        metadata["grader"] = {"lesson": lesson}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def solution(lesson: int = 1) -> dict:
    """A complete solution notebook of one lesson."""
    cells = [
        {
            "id": "title",
            "cell_type": "markdown",
            "metadata": {"grader": {"role": "text"}},
            "source": "# Lesson",
        },
        code("setup", "import torch", "setup"),
    ]
    for exercise in exercises.by_lesson()[lesson]:
        i = exercise.id
        marked = f"# yours\n{release.BEGIN}\n{exercise.solution}{release.END}\n# end of yours"
        cells += [
            code(f"card-{i}", f"ex = grader.exercise({i!r})\nex", "card", i),
            code(f"answer-{i}", marked, "answer", i),
            code(f"check-{i}", f"ex.check({exercise.entry})", "check", i),
        ]
    return notebook(cells, lesson)


def handin(answers: dict[str, str], released: dict | None = None) -> dict:
    """A released notebook with the text of some answer cells replaced: exercise id -> text of the cell.

    released: the made-up lesson 1 if None.
    """
    made = deepcopy(released) if released else release.build(solution(), EXERCISES)
    for exercise, source in answers.items():
        answer_cell(made, exercise)["source"] = source
    return made


def answer_cell(made: dict, exercise: str) -> dict:
    """The answer cell of an exercise."""
    wanted = {"role": "answer", "exercise": exercise}
    return next(
        cell for cell in made["cells"] if wanted.items() <= cell["metadata"].get("grader", {}).items()
    )


def with_cell(made: dict, exercise: str, source: str) -> dict:
    """A copy with one more cell, the learner's own, before the answer to `exercise`."""
    made = deepcopy(made)
    made["cells"].insert(made["cells"].index(answer_cell(made, exercise)), code("own", source))
    return made


def save(path: Path, made: dict) -> Path:
    """Write a notebook as Jupyter would; makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def processes_with(name: str, value: str) -> list[psutil.Process]:
    """Running processes that were started with this environment variable: ours, and whatever they started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(name) == value:
                found.append(process)
        except psutil.Error:
            continue
    return found
