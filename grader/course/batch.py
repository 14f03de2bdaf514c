"""`grader grade`: every hand-in of a folder, several at a time, into a book."""

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from grader import sandbox
from grader.course import book as books
from grader.course.answers import Handin
from grader.course.grade import Prepared, Result, Settings, judge, prepare


@dataclass(frozen=True)
class Found:
    """One hand-in: `name` is its path inside the batch's folder, `learner` the first folder of it, or the
    file's stem.
    """

    path: Path
    name: str
    learner: str
    empty_folder: bool = False


def find(folder: Path, book: Path) -> tuple[list[Found], list[str]]:
    """All hand-ins under `folder`, and the names of files that are none.

    A file is a hand-in if its name holds `.ipynb` (`x.ipynb.txt` and `x.ipynb (1)` are what browsers make of
    one). A learner's folder without any is a hand-in too, an empty one, so that nobody is lost. Hidden
    folders and the book are not looked into.
    """
    found: list[Found] = []
    others: list[str] = []
    book = book.resolve()
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            f for f in folders if not f.startswith(".") and (Path(root) / f).resolve() != book
        )
        for file in sorted(files):
            path = Path(root) / file
            name = printable(path.relative_to(folder).as_posix())
            if file.startswith("."):
                continue
            if ".ipynb" in file.lower():
                learner = name.split("/")[0] if "/" in name else name[: name.lower().index(".ipynb")]
                found.append(Found(path, name, learner))
            else:
                others.append(name)
    with_notebook = {handin.name.split("/")[0] for handin in found}
    for path in sorted(folder.iterdir()):
        name = printable(path.name)
        if (
            path.is_dir()
            and not name.startswith(".")
            and name not in with_notebook
            and path.resolve() != book
        ):
            found.append(Found(path, f"{name}/", name, empty_folder=True))
    return sorted(found, key=lambda handin: handin.name), others


def printable(name: str) -> str:
    """A file's name as text that every encoding of Unicode can write (names on disk are bytes and may be
    anything).
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def run(
    handins: list[Found],
    folder: Path,
    exercises: Mapping[str, object],
    settings: Settings,
    jobs: int,
    made_with: str,
    say: Callable[[dict, bool], None],
) -> list[dict]:
    """Grade `handins` into the book in `folder`, `jobs` at a time; return their gradebook rows by name.

    made_with: names all else that grades depend on (versions, GPU); a kept record made with something else is
    made anew. say(row, kept): called as each result comes. Raises books.BookBusy; on KeyboardInterrupt every
    hand-in's process is ended first, and what was done stays in the book.
    """
    stop = threading.Event()
    rows: dict[str, dict] = {}
    notes = _shared_learners(handins)
    with books.Book(folder, columns(exercises)) as book, ThreadPoolExecutor(max_workers=jobs) as pool:
        # All are read before any is run: what a hand-in does to its neighbours' files comes too late.
        prepared = {handin: _prepare(handin, exercises) for handin in handins}
        waiting = {}
        for handin in handins:
            note = notes.get(handin.name, "")
            key = _key(prepared[handin], exercises, settings, made_with, note)
            if record := book.kept(handin.name, key):
                book.show(record)
                rows[handin.name] = record["row"]
                say(record["row"], True)
            else:
                future = pool.submit(_judge, prepared[handin], exercises, settings, note, stop)
                waiting[future] = handin, key
        try:
            for future in as_completed(waiting):
                handin, key = waiting[future]
                record = books.record_of(handin.name, handin.learner, key, future.result(), exercises)
                book.add(record)
                rows[handin.name] = record["row"]
                say(record["row"], False)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [rows[handin.name] for handin in handins]


def columns(exercises: Mapping[str, object]) -> list[str]:
    """The gradebook's columns, in order."""
    return ["hand-in", "learner", "status", "score", "max", *exercises, "seconds", "notes"]


def _prepare(handin: Found, exercises) -> Prepared:
    if handin.empty_folder:
        nothing = Handin((), (), ())
        return Prepared(nothing, Result(sandbox.Status.EMPTY, ("there is no notebook in this folder",)))
    return prepare(handin.path, exercises)


def _judge(prepared: Prepared, exercises, settings: Settings, note: str, stop: threading.Event) -> Result:
    try:
        result = judge(prepared, exercises, settings, stop)
    except sandbox.Cancelled:
        raise
    except Exception as error:  # ours, whatever it is: it must cost neither this row nor the next one
        why = f"grading failed: {type(error).__name__}: {error}"
        return Result(sandbox.Status.INFRASTRUCTURE, (why,), prepared.handin.asked)
    return replace(result, notes=(*result.notes, note)) if note else result


def _shared_learners(handins: list[Found]) -> dict[str, str]:
    by_learner: dict[str, list[str]] = {}
    for handin in handins:
        by_learner.setdefault(handin.learner, []).append(handin.name)
    return {
        name: f"one of {len(names)} notebooks of {learner}"
        for learner, names in by_learner.items()
        for name in names
        if len(names) > 1
    }


def _key(prepared: Prepared, exercises, settings: Settings, made_with: str, note: str) -> str:
    """What a record was made from: the hand-in's bytes, the limits, the syllabus' points, and whatever
    graded it.
    """
    points = [(i, exercise.lesson, exercise.points) for i, exercise in exercises.items()]
    failed = prepared.failed and (prepared.failed.status, prepared.failed.notes)
    parts = (prepared.digest, failed, settings.timeout, settings.memory, made_with, points, note)
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
