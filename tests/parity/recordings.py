"""`h200.json`: what the programs gave on a real GPU, run by run, one program a line.

{"runs": [
{"on": {"gpu": ..., "driver": ..., "torch": ..., "numba": ..., "date": ...}, "outcomes": {
"group/program": outcome,
...}}, ...]}

A later run keeps the earlier ones' outcomes of the programs that it did not record.
"""

from __future__ import annotations

import json
from typing import Any

from .harness import HERE

FILE = HERE / "h200.json"


def runs() -> list[dict[str, Any]]:
    """The recorded runs, oldest first: `{"on": {...}, "outcomes": {name: outcome}}`."""
    return json.loads(FILE.read_text())["runs"]


def outcomes() -> dict[str, Any]:
    """Every recorded outcome, by the name of its program."""
    return {name: outcome for run in runs() for name, outcome in run["outcomes"].items()}


def write(recorded: list[dict[str, Any]]) -> None:
    FILE.write_text(
        '{"runs": [\n' + ",\n".join(_lines(run) for run in recorded if run["outcomes"]) + "\n]}\n"
    )


def add(on: dict[str, str], new: dict[str, Any]) -> None:
    """Write the outcomes of `new`, recorded on the machine that `on` describes, in place of older ones."""
    earlier = [
        {"on": run["on"], "outcomes": {n: o for n, o in run["outcomes"].items() if n not in new}}
        for run in runs()
    ]
    same = next((run for run in earlier if run["on"] == on), None)
    if same is None:
        earlier.append({"on": on, "outcomes": new})
    else:
        same["outcomes"] |= new
    write(earlier)


def _lines(run: dict[str, Any]) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(run['outcomes'][name])}" for name in sorted(run["outcomes"]))
    return f'{{"on": {json.dumps(run["on"])}, "outcomes": {{\n' + ",\n".join(lines) + "\n}}"
