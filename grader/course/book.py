"""The book of a batch: a folder with one JSON file a hand-in and `gradebook.csv`, both complete after every
hand-in.

The JSON files are the record; the CSV is made from them. A hand-in whose file is already there, for the same
contents graded in the same way, is not graded again: a batch that was killed goes on where it stopped.
"""

import contextlib
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.course import nbfile
from grader.course.grade import Result


class BookBusy(Exception):
    """Another batch is writing this book."""


def row_of(handin: str, learner: str, result: Result, exercises: Mapping[str, object]) -> dict:
    """One line of the gradebook, column by column."""
    return {
        "hand-in": handin,
        "learner": learner,
        "status": str(result.status),
        "score": result.score,
        "max": result.maximum,
        **{i: result.standing(i) for i in exercises},
        "seconds": round(result.outcome.seconds, 1) if result.outcome else 0.0,
        "notes": "; ".join(result.notes),
    }


def record_of(handin: str, learner: str, key: str, result: Result, exercises: Mapping[str, object]) -> dict:
    """All that is known about one graded hand-in, JSON-able. `key`: what it was made from (see
    `Book.kept`).
    """
    outcome = result.outcome
    ran = {}
    if outcome:
        ran = {
            "peak_memory_bytes": outcome.peak_memory,
            "cell_errors": {str(index): text for index, text in outcome.errors.items()},
            "unjudged": outcome.unjudged,
            "suspect": outcome.suspect,
            "output": outcome.output,
            "made_with": outcome.made_with,
        }
    return {
        "key": key,
        "row": row_of(handin, learner, result, exercises),
        "exercises": {
            i: {
                "points": exercises[i].points,
                "standing": result.standing(i),
                "seconds": round(result.seconds.get(i, 0.0), 3),
                "verdict": result.best.get(i),
            }
            for i in result.asked
        },
        **ran,
    }


class Book:
    """The folder of one batch. Use as a context manager: it belongs to one batch at a time (else
    BookBusy).
    """

    def __init__(self, folder: Path, columns: list[str]):
        self._folder = folder
        self._handins = folder / "handins"
        self._columns = columns
        self._rows: dict[str, dict] = {}
        self._lock = contextlib.ExitStack()

    def __enter__(self) -> "Book":
        self._handins.mkdir(parents=True, exist_ok=True)
        self._lock.enter_context(_locked(self._folder / ".lock"))
        return self

    def __exit__(self, *exception) -> None:
        self._lock.close()

    def kept(self, handin: str, key: str) -> dict | None:
        """The record of this hand-in if it was made with the same key, else None. A record of our own
        failure is not kept.
        """
        try:
            record = json.loads(self._file(handin).read_bytes())
            same = record["key"] == key and record["row"]["status"] != "infrastructure"
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return record if same else None

    @contextlib.contextmanager
    def running(self, handin: str, key: str) -> Iterator[None]:
        """While this lasts it stands in the folder that the hand-in is being run, for `ended_during`."""
        ended = self.ended_during(handin, key)
        nbfile.write(self._mark(handin), json.dumps({"key": key, "runs": ended + 1}))
        try:
            yield
        finally:
            self._mark(handin).unlink(missing_ok=True)

    def ended_during(self, handin: str, key: str) -> int:
        """How many runs of this hand-in, with the same key, did not come to an end because the batch's own
        process was ended.
        """
        try:
            mark = json.loads(self._mark(handin).read_bytes())
            return int(mark["runs"]) if mark["key"] == key else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def add(self, record: dict) -> None:
        """Write a hand-in's record and the gradebook with its row."""
        handin = record["row"]["hand-in"]
        nbfile.write(self._file(handin), json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        self._mark(handin).unlink(missing_ok=True)
        self.show(record)

    def show(self, record: dict) -> None:
        """Put the row of a record that is already in the folder into the gradebook."""
        self._rows[record["row"]["hand-in"]] = record["row"]
        self.write()

    def write(self) -> None:
        """Write the gradebook, also with no row yet."""
        nbfile.write(
            self._folder / "gradebook.csv",
            to_csv([self._rows[name] for name in sorted(self._rows)], self._columns),
        )

    def _mark(self, handin: str) -> Path:
        return self._file(handin).with_suffix(".running")

    def _file(self, handin: str) -> Path:
        # Any name must fit: theirs may be too long for one more suffix, or hold what a file system refuses.
        readable = re.sub(r"[^A-Za-z0-9._-]+", "_", handin)[-80:].lstrip("._")
        digest = hashlib.sha256(handin.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        return self._handins / f"{readable}-{digest}.json"


def is_book(folder: Path) -> bool:
    """Does `folder` look like the book of a batch?"""
    return (folder / "gradebook.csv").is_file() and (folder / "handins").is_dir()


def to_csv(rows: list[dict], columns: list[str]) -> str:
    """The gradebook's text. Cells that a spreadsheet would take for a formula get an apostrophe in front."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({column: _harmless(value) for column, value in row.items()} for row in rows)
    return text.getvalue()


def _harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = re.sub(r"[\r\n\0]+", " ", value)
    return (
        f"'{value}"
        if value.lstrip().startswith(("=", "+", "-", "@", "\t")) or value.startswith("\t")
        else value
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: two batches on one book are then the user's own care
        yield
        return
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # given back by the system when the batch dies
        except OSError:
            raise BookBusy(f"another `grader grade` is writing {path.parent}") from None
        yield
