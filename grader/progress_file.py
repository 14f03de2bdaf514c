"""The learner's progress, in one small file.

It is the learner's own and no record for grading. Nothing here may stand in the way of a check: a damaged
file is put aside; one that cannot be read or written is left alone, and this session's progress is kept
in memory.
"""

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import platformdirs

from grader.display import say

_VERSION = 1


@dataclass(frozen=True)
class Record:
    """What is kept about one exercise; `attempts` counts checks of an answer, `hints` those seen."""

    attempts: int = 0
    passed: bool = False
    hints: int = 0
    solution_seen: bool = False


class _Damaged(Exception):
    """The file is there and can be read, but is not a progress file."""


class Progress:
    """The records of one file. Every change is written at once, by replacing the file as a whole.

    Before a change the file is read again, so that two notebooks open at once keep each other's records.
    """

    def __init__(self, path: Path):
        self.path = path
        self._records: dict[str, Record] = {}
        self._in_memory = False

    def records(self) -> dict[str, Record]:
        """Return exercise id -> Record, for the exercises touched so far."""
        if not self._in_memory:
            try:
                self._records = _read(self.path)
            except _Damaged:
                self._put_aside()
            except OSError as error:
                self._stay_in_memory(error)
        return dict(self._records)

    def checked(self, exercise_id: str, passed: bool) -> None:
        """Note one more check. Once passed, an exercise stays passed."""
        old = self._record(exercise_id)
        self._write(exercise_id, replace(old, attempts=old.attempts + 1, passed=old.passed or passed))

    def hint_shown(self, exercise_id: str, number: int) -> None:
        """Note that hint `number`, counted from 1, was shown."""
        old = self._record(exercise_id)
        self._write(exercise_id, replace(old, hints=max(old.hints, number)))

    def solution_shown(self, exercise_id: str) -> None:
        """Note that the solution was shown."""
        self._write(exercise_id, replace(self._record(exercise_id), solution_seen=True))

    def _record(self, exercise_id: str) -> Record:
        return self.records().get(exercise_id, Record())

    def _write(self, exercise_id: str, record: Record) -> None:
        self._records[exercise_id] = record
        if self._in_memory:
            return
        exercises = {key: asdict(value) for key, value in sorted(self._records.items())}
        try:
            _replace(self.path, json.dumps({"version": _VERSION, "exercises": exercises}, indent=1) + "\n")
        except OSError as error:
            self._stay_in_memory(error)

    def _put_aside(self) -> None:
        aside = self.path.with_name(self.path.name + ".damaged")
        try:
            os.replace(self.path, aside)
        except OSError as error:
            self._stay_in_memory(error)
        else:
            say(f"progress: the file was damaged; it is kept as {aside}, and a new one is begun")

    def _stay_in_memory(self, error: OSError) -> None:
        self._in_memory = True
        say(f"progress: kept for this session only, {self.path} cannot be used ({error.strerror or error})")


def path() -> Path:
    """Return where the progress is kept: `GRADER_PROGRESS` if set, else a file in the user's data folder."""
    if chosen := os.environ.get("GRADER_PROGRESS"):
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_data_path("kernels-and-streams", appauthor=False) / "progress.json"


def current() -> Progress:
    """Return the learner's progress, one object a process, so that a remark about its file comes once."""
    return _at(path())


@cache
def _at(where: Path) -> Progress:
    return Progress(where)


def _read(where: Path) -> dict[str, Record]:
    try:
        text = where.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise _Damaged from error
    try:
        stored = json.loads(text)
        if stored["version"] != _VERSION:
            raise OSError(f"written by another version of the course: {stored['version']!r}")
        return {key: _record_from(fields) for key, fields in stored["exercises"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _Damaged from error


def _record_from(fields: dict) -> Record:
    record = Record(**fields)
    if any(type(value) is not type(getattr(Record, name)) for name, value in asdict(record).items()):
        raise TypeError("a field of the wrong type")
    return record


def _replace(where: Path, text: str) -> None:
    """Write `text` to `where`: whoever reads, even after a kill, finds the old file or the new one."""
    where.parent.mkdir(parents=True, exist_ok=True)
    if where.exists() and not os.access(where, os.W_OK):
        raise PermissionError(13, "it is read-only")  # os.replace would replace it all the same
    handle, draft = tempfile.mkstemp(dir=where.parent, prefix=where.name, suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, where)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
