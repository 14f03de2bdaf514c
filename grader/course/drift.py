"""`grader release --check`: where notebooks/ is not what solutions/ would give."""

import json
from collections.abc import Mapping
from pathlib import Path

from grader.course import nbfile, release


def find(solutions: Path, notebooks: Path, exercises: Mapping[str, object]) -> list[str]:
    """How `notebooks` differs from what `release` would write: sentences that name notebook and cell; []
    if in nothing.
    """
    try:
        wanted = release.texts(solutions, exercises)
    except release.ReleaseError as error:
        return error.problems
    found = []
    for name, text in wanted.items():
        path = notebooks / name
        if not path.exists():
            found.append(f"{path} is missing")
        elif path.read_bytes() != text.encode():
            found += _differences(path, text)
    extra = sorted(path for path in notebooks.glob("*.ipynb") if path.name not in wanted)
    return found + [f"{path} has no notebook of that name in {solutions}" for path in extra]


def _differences(path: Path, text: str) -> list[str]:
    try:
        actual = nbfile.read(path)[0]
    except nbfile.NotebookError as error:
        return [f"{path} {error}"]
    wanted = json.loads(text)
    wanted_ids = [cell["id"] for cell in wanted["cells"]]
    actual_ids = [cell.get("id") for cell in actual["cells"]]
    by_id = {cell["id"]: cell for cell in wanted["cells"]}
    found = []
    for index, cell in enumerate(actual["cells"]):
        name = release.cell_name(cell, index)
        if cell.get("id") not in by_id:
            found.append(f"{path}: {name} is not in the solution")
        elif actual_ids.count(cell["id"]) > 1 and actual_ids.index(cell["id"]) != index:
            found.append(f"{path}: {name} has the id of an earlier cell")
        elif what := _cell_difference(cell, by_id[cell["id"]]):
            found.append(f"{path}: {name} differs: {what}")
    found += [f"{path}: cell {i!r} is missing" for i in wanted_ids if i not in actual_ids]
    if not found and actual_ids != wanted_ids:
        found.append(f"{path}: the cells are in another order")
    if actual.get("metadata") != wanted["metadata"]:
        found.append(f"{path}: the notebook's metadata differs")
    return found or [f"{path} differs in its layout only; run `grader release`"]


def _cell_difference(actual: dict, wanted: dict) -> str:
    lines, wanted_lines = nbfile.source(actual).split("\n"), nbfile.source(wanted).split("\n")
    for number, (line, other) in enumerate(zip(lines, wanted_lines, strict=False), start=1):
        if line != other:
            return f"line {number} is {line!r}, should be {other!r}"
    if len(lines) != len(wanted_lines):
        return f"it has {len(lines)} lines, should have {len(wanted_lines)}"
    keys = sorted(
        key for key in actual.keys() | wanted.keys() if key != "source" and actual.get(key) != wanted.get(key)
    )
    return ", ".join(keys)
