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
from grader.course.grade import Prepared, Result, Settings, judge, points, prepare

RUNS_THAT_ENDED = 2  # a hand-in that was running so often when the grader was ended is what ended it


@dataclass(frozen=True)
class Found:
    """One hand-in: `name` is its path inside the batch's folder, `learner` the first folder of it, or the
    file's stem.
    """

    path: Path
    name: str
    learner: str
    empty_folder: bool = False


def find(folder: Path, book: Path) -> tuple[list[Found], list[str], list[str]]:
    """All hand-ins under `folder`, the names of files that are none, and of folders that are earlier books.

    A file is a hand-in if its name holds `.ipynb` (`x.ipynb.txt` and `x.ipynb (1)` are what browsers make of
    one). A learner's folder without any is a hand-in too, an empty one, so that nobody is lost. Hidden
    folders and books, this one and earlier ones, are not looked into.
    """
    found: list[Found] = []
    others: list[str] = []
    earlier: list[str] = []
    book = book.resolve()
    for root, folders, files in os.walk(folder):
        inside = [Path(root) / f for f in sorted(folders) if not f.startswith(".")]
        inside = [path for path in inside if path.resolve() != book]
        earlier += [printable(p.relative_to(folder).as_posix()) for p in inside if books.is_book(p)]
        folders[:] = [path.name for path in inside if not books.is_book(path)]
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
            and not books.is_book(path)
        ):
            found.append(Found(path, f"{name}/", name, empty_folder=True))
    return sorted(found, key=lambda handin: handin.name), others, earlier


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

    A hand-in that was running when an earlier start was ended from outside may be what ended it: it is run
    after all others and alone, and if that ends the grader again, a third start marks it as died.
    """
    stop = threading.Event()
    rows: dict[str, dict] = {}
    notes = _shared_learners(handins)
    with books.Book(folder, columns(exercises)) as book, ThreadPoolExecutor(max_workers=jobs) as pool:
        # All are read before any is run: what a hand-in does to its neighbours' files comes too late.
        prepared = _with_maximum({handin: _prepare(handin, exercises) for handin in handins}, exercises)
        fresh: dict[Found, str] = {}
        again: dict[Found, str] = {}
        for handin in handins:
            note = notes.get(handin.name, "")
            key = _key(prepared[handin], exercises, settings, made_with, note)
            if record := book.kept(handin.name, key):
                book.show(record)
                rows[handin.name] = record["row"]
                say(record["row"], True)
            else:
                (again if book.ended_during(handin.name, key) else fresh)[handin] = key
        book.write()

        def judge_one(handin: Found, key: str) -> Result:
            if book.ended_during(handin.name, key) >= RUNS_THAT_ENDED:
                return _ended_the_grader(prepared[handin].handin, exercises)
            with book.running(handin.name, key):
                return _judge(prepared[handin], exercises, settings, notes.get(handin.name, ""), stop)

        try:
            for some in (fresh, *({handin: key} for handin, key in again.items())):
                waiting = {pool.submit(judge_one, *one): one for one in some.items()}
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
        asked = prepared.handin.asked
        return Result(sandbox.Status.INFRASTRUCTURE, (why,), asked, maximum=points(asked, exercises))
    return replace(result, notes=(*result.notes, note)) if note else result


def _ended_the_grader(handin: Handin, exercises) -> Result:
    why = f"ended the grader itself {RUNS_THAT_ENDED} times, the last time as the only one running; "
    why += "to run it once more, delete its file in the book's folder handins"
    return Result(sandbox.Status.DIED, (why,), handin.asked, maximum=points(handin.asked, exercises))


def _with_maximum(prepared: dict[Found, Prepared], exercises) -> dict[Found, Prepared]:
    """Nothing in an unreadable file tells its lesson: it is taken for the others', if they are of one."""
    asked = {one.handin.asked for one in prepared.values() if one.handin.asked}
    if len(asked) != 1:
        return prepared
    maximum = points(asked.pop(), exercises)
    return {
        handin: replace(one, failed=replace(one.failed, maximum=maximum))
        if one.failed and one.failed.maximum is None
        else one
        for handin, one in prepared.items()
    }


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
    worth = [(i, exercise.lesson, exercise.points) for i, exercise in exercises.items()]
    failed = prepared.failed and (prepared.failed.status, prepared.failed.notes, prepared.failed.maximum)
    parts = (prepared.digest, failed, settings.timeout, settings.memory, made_with, worth, note)
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
