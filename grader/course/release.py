"""`grader release`: makes `notebooks/` from `solutions/`, and `--check` tells where the two have drifted
apart.

Each notebook in `solutions/` becomes the one of the same name in `notebooks/`. Every transformation:

1. Answers are cut. In an answer cell (`metadata.grader.role` is "answer") the lines from `### BEGIN SOLUTION`
   to `### END SOLUTION`, both included, are replaced by the starter of its exercise. The rest of the cell
   stays.
2. Outputs of code cells are cleared and execution counts set to null.
3. Widget state (`metadata.widgets`) is dropped, and `metadata.language_info` is cut to the language's name,
   since the rest changes with the Python that last ran the notebook. Everything else in the notebook's
   metadata stays.
4. Traces of running or viewing are dropped from the cells' metadata (`execution`, `collapsed`, `scrolled`,
   `ExecuteTime`, and what the `jupyter` key says about hidden outputs). Everything else there stays.
5. Answer cells and check cells get nbgrader's metadata, schema version 3: an answer is a solution cell with
   the exercise's id as its `grade_id`; a check is a locked grade cell `check-<id>` with the exercise's points
   and nbgrader's checksum. Both become undeletable in the notebook (`deletable` false).
6. Cell ids stay as they are.

What a solution must have is checked on the way: unique cell ids, one answer cell an exercise with one pair of
markers around exactly the exercise's solution, no markers anywhere else, and `metadata.grader.lesson` the
exercises' lesson.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

from grader.course import nbfile

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
_TRACES = ("execution", "collapsed", "scrolled", "ExecuteTime")


class ReleaseError(Exception):
    """Notebooks cannot be released, or not without a loss. `problems`: sentences, each naming its cell."""

    def __init__(self, problems: list[str]):
        super().__init__("\n".join(problems))
        self.problems = problems


def build(solution: dict, exercises: Mapping[str, object]) -> dict:
    """The learner's notebook for one solution notebook (JSON data, as `nbfile.read` returns it; left
    unchanged).

    exercises: all of the course, by id. Raises ReleaseError with every problem of the solution.
    """
    problems = list(_problems(solution, exercises))
    if problems:
        raise ReleaseError(problems)
    notebook = deepcopy(solution)
    meta = notebook.setdefault("metadata", {})
    meta.pop("widgets", None)
    if "language_info" in meta:
        meta["language_info"] = {"name": meta["language_info"].get("name", "python")}
    for cell in notebook["cells"]:
        _release_cell(cell, exercises)
    return notebook


def _release_cell(cell: dict, exercises: Mapping[str, object]) -> None:
    meta = cell["metadata"]
    for key in _TRACES:
        meta.pop(key, None)
    if isinstance(jupyter := meta.get("jupyter"), dict):
        jupyter.pop("outputs_hidden", None)
        if not jupyter:
            del meta["jupyter"]
    if cell["cell_type"] == "code":
        cell["outputs"] = []
        cell["execution_count"] = None
    role, exercise = _role(cell), exercises.get(_exercise_id(cell))
    if role == "answer":
        before, _, after = _split(nbfile.source(cell))
        cell["source"] = "\n".join([*before, exercise.starter.strip("\n"), *after])
        meta["nbgrader"] = _nbgrader(grade_id=exercise.id, grade=False)
        meta["deletable"] = False
    elif role == "check" and cell["cell_type"] == "code" and exercise is not None:
        meta["nbgrader"] = _nbgrader(grade_id=f"check-{exercise.id}", grade=True) | {
            "points": exercise.points
        }
        meta["nbgrader"]["checksum"] = nbgrader_checksum(cell)
        meta["deletable"] = False


def _nbgrader(grade_id: str, grade: bool) -> dict:
    return {
        "schema_version": 3,
        "grade": grade,
        "solution": not grade,
        "locked": grade,
        "task": False,
        "grade_id": grade_id,
        "cell_type": "code",
    }


def nbgrader_checksum(cell: dict) -> str:
    """nbgrader's own checksum of a cell with its metadata: MD5, hexadecimal."""
    meta = cell["metadata"]["nbgrader"]
    parts = [
        nbfile.source(cell),
        cell["cell_type"],
        meta["grade"],
        meta["solution"],
        meta["locked"],
        meta["grade_id"],
    ]
    if meta["grade"]:
        parts.append(float(meta["points"]))
    return hashlib.md5("".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()


def _split(text: str) -> tuple[list[str], list[str], list[str]]:
    """Lines before, between and after the markers."""
    lines = text.split("\n")
    stripped = [line.strip() for line in lines]
    begin, end = stripped.index(BEGIN), stripped.index(END)
    return lines[:begin], lines[begin + 1 : end], lines[end + 1 :]


def _problems(solution: dict, exercises: Mapping[str, object]):
    """Everything that is wrong with a solution notebook, as sentences."""
    lesson = nbfile.metadata(solution, "grader").get("lesson")
    if not isinstance(lesson, int):
        yield "the notebook's metadata names no lesson (`grader.lesson`)"
    seen_ids: set[str] = set()
    answered: set[str] = set()
    for index, cell in enumerate(solution["cells"]):
        name = cell_name(cell, index)
        cell_id = cell.get("id")
        if not isinstance(cell_id, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell_id):
            yield f"{name} has no valid id"
        elif cell_id in seen_ids:
            yield f"{name}: another cell has the same id"
        seen_ids.add(cell_id)
        if not isinstance(cell.get("metadata"), dict) or cell.get("cell_type") not in (
            "code",
            "markdown",
            "raw",
        ):
            yield f"{name} has no metadata or no known cell type"
            continue
        if _role(cell) == "answer":
            yield from _answer_problems(cell, name, exercises, answered)
            if (exercise := exercises.get(_exercise_id(cell))) and exercise.lesson != lesson:
                yield f"{name} answers {exercise.id} of lesson {exercise.lesson}; this is lesson {lesson}"
        else:
            if any(marker in nbfile.source(cell) for marker in (BEGIN, END)):
                yield f"{name} holds a solution marker, but its metadata says nothing of an answer cell"
            if _role(cell) in ("check", "card") and _exercise_id(cell) not in exercises:
                yield f"{name} belongs to an exercise that does not exist: {_exercise_id(cell)!r}"


def _answer_problems(cell: dict, name: str, exercises: Mapping[str, object], answered: set[str]):
    exercise = exercises.get(_exercise_id(cell))
    if exercise is None:
        yield f"{name} answers an exercise that does not exist: {_exercise_id(cell)!r}"
        return
    if cell["cell_type"] != "code":
        yield f"{name} is an answer, but no code cell"
    if exercise.id in answered:
        yield f"{name} is a second answer cell for {exercise.id}"
    answered.add(exercise.id)
    found = re.findall(rf"^[ \t]*({BEGIN}|{END})[ \t]*$", nbfile.source(cell), re.MULTILINE)
    if found != [BEGIN, END]:
        yield f"{name} needs one line `{BEGIN}` and after it one line `{END}`, has {found or 'neither'}"
    elif "\n".join(_split(nbfile.source(cell))[1]).strip() != exercise.solution.strip():
        yield f"{name}: the text between the markers is not the solution of {exercise.id} in grader.exercises"


def _role(cell: dict) -> object:
    return nbfile.metadata(cell, "grader").get("role")


def _exercise_id(cell: dict) -> str | None:
    exercise = nbfile.metadata(cell, "grader").get("exercise")
    return exercise if isinstance(exercise, str) else None


def cell_name(cell: dict, index: int) -> str:
    """How messages name a cell: by its id, and by its place, counted from 1."""
    return f"cell {cell['id']!r} (number {index + 1})" if "id" in cell else f"cell number {index + 1}"


def release(
    solutions: Path, notebooks: Path, exercises: Mapping[str, object], force: bool = False
) -> list[Path]:
    """Write every notebook; return the files that changed. Raises ReleaseError before anything is written,
    also when somebody has answered in one of them, unless `force`.
    """
    wanted = texts(solutions, exercises)
    if not force and (
        answered := [
            said for name in wanted for said in _answered(notebooks / name, solutions / name, wanted[name])
        ]
    ):
        raise ReleaseError(answered)
    notebooks.mkdir(exist_ok=True)
    changed = []
    for name, text in wanted.items():
        target = notebooks / name
        if not target.exists() or target.read_bytes() != text.encode():
            nbfile.write(target, text)
            changed.append(target)
    return changed


def _answered(path: Path, solution: Path, text: str) -> list[str]:
    """Answer cells of the notebook in `path` that hold an answer of somebody's own, as sentences."""
    try:
        actual = nbfile.read(path)[0]
    except nbfile.NotebookError:  # not there, or not a notebook
        return []
    known: dict[str | None, set[str]] = {}
    for source in (json.loads(text), nbfile.read(solution)[0]):
        for cell in source["cells"]:
            if _role(cell) == "answer":
                known.setdefault(_exercise_id(cell), {""}).add(_form(nbfile.source(cell)))
    return [
        f"{path}: {cell_name(cell, index)} holds an answer that is neither the starter nor the solution. "
        "Nothing was written; move the notebook elsewhere, or overwrite it with: grader release --force"
        for index, cell in enumerate(actual["cells"])
        if _role(cell) == "answer"
        and (exercise := _exercise_id(cell)) in known
        and _form(nbfile.source(cell)) not in known[exercise]
    ]


def _form(text: str) -> str:
    """The text of an answer cell without what does not matter: with no space at ends of lines, no markers."""
    lines = (line.rstrip() for line in text.split("\n") if line.strip() not in (BEGIN, END))
    return "\n".join(lines).strip()


def texts(solutions: Path, exercises: Mapping[str, object]) -> dict[str, str]:
    """The text of every notebook to be released, by file name. Raises ReleaseError with the problems of
    all of them.
    """
    found: dict[str, str] = {}
    answered: list[str] = []
    problems: list[str] = []
    for path in sorted(solutions.glob("*.ipynb")):
        try:
            solution = nbfile.read(path)[0]
            found[path.name] = nbfile.to_text(build(solution, exercises))
            answered += [_exercise_id(cell) for cell in solution["cells"] if _role(cell) == "answer"]
        except nbfile.NotebookError as error:
            problems.append(f"{path} {error}")
        except ReleaseError as error:
            problems += [f"{path}: {problem}" for problem in error.problems]
    if not found and not problems:
        problems.append(f"{solutions} holds no notebook")
    if not problems:
        for exercise, count in ((i, answered.count(i)) for i in exercises):
            if count != 1:
                problems.append(
                    f"{solutions}: {count or 'no'} notebooks have an answer cell for {exercise}, one should"
                )
    if problems:
        raise ReleaseError(problems)
    return found
