"""Grading one notebook: read it, find its answers, run them in a sandbox, count the points."""

import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader import sandbox
from grader.course import answers, nbfile
from grader.sandbox import Outcome, Status


@dataclass(frozen=True)
class Settings:
    """Limits of one hand-in: wall-clock seconds, bytes of memory, CPU threads of torch."""

    timeout: float = 300.0
    memory: int = 4 * 2**30
    threads: int = 1


@dataclass(frozen=True)
class Result:
    """How one notebook fared. `best`: the verdict that counts (Verdict.to_json()) for each exercise that has
    one.

    `asked`: ids of the exercises that count to `maximum`. Points come from the syllabus, never from the
    notebook: a PASS in values earns all of an exercise's, anything else none. `maximum` is None where nothing
    tells which lesson it is.
    """

    status: Status
    notes: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    best: Mapping[str, dict] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    score: int = 0
    maximum: int | None = None
    outcome: Outcome | None = None

    def standing(self, exercise: str) -> str:
        """One word or two on an exercise: 'PASS', 'WRONG/nan_mask', 'missing', 'not reached', '' where it
        is not asked.
        """
        if exercise not in self.asked:
            return ""
        if exercise in self.missing:
            return "missing"
        if exercise not in self.best:
            unjudged = self.outcome is not None and exercise in self.outcome.unjudged
            return "not judged" if unjudged else "not reached"
        values, reason = self.best[exercise]["values"], self.best[exercise]["reason"]
        return values if reason in (None, values.lower()) else f"{values}/{reason}"


@dataclass(frozen=True)
class Prepared:
    """A notebook that has been read, before anything of it is run: its answers, or how it failed already.

    digest: of the file's bytes, for telling whether it is still the same.
    """

    handin: answers.Handin
    failed: Result | None = None
    digest: str = ""


def prepare(path: Path, exercises: Mapping[str, object]) -> Prepared:
    """Read the notebook in `path`. Returns a Prepared for whatever file it is."""
    nothing = answers.Handin((), (), ())
    try:
        notebook, data = nbfile.read(path)
    except nbfile.EmptyFile as error:
        return Prepared(nothing, Result(Status.EMPTY, (f"the file {error}",)))
    except nbfile.NotebookError as error:
        return Prepared(nothing, Result(Status.CORRUPT, (f"the file {error}",)))
    digest = hashlib.sha256(data).hexdigest()
    handin = answers.find(notebook, exercises)
    if not any(cell.exercise for cell in handin.cells):
        notes = (*handin.notes, "no answer cell of any exercise was found")
        return Prepared(handin, _result(Status.MISSING_CELL, notes, handin, exercises, None), digest)
    return Prepared(handin, digest=digest)


def judge(
    prepared: Prepared,
    exercises: Mapping[str, object],
    settings: Settings,
    stop: threading.Event | None = None,
) -> Result:
    """Run the answers and count the points. Raises nothing but sandbox.Cancelled, when `stop` is set."""
    if prepared.failed:
        return prepared.failed
    handin = prepared.handin
    job = sandbox.Job(
        handin.cells, timeout=settings.timeout, memory=settings.memory, threads=settings.threads
    )
    outcome = sandbox.run(job, stop)
    status = outcome.status
    notes = [*handin.notes, outcome.note, *(f"suspect: {what}" for what in outcome.suspect)]
    if handin.missing:
        notes.append(f"no answer cell for {', '.join(handin.missing)}")
        if status is Status.GRADED:
            status = Status.MISSING_CELL
    return _result(status, tuple(filter(None, notes)), handin, exercises, outcome)


def _result(status, notes, handin: answers.Handin, exercises, outcome: Outcome | None) -> Result:
    best: dict[str, dict] = {}
    seconds: dict[str, float] = {}
    for report in outcome.verdicts if outcome else ():
        seconds[report.exercise] = seconds.get(report.exercise, 0.0) + report.seconds
        if _rank(report.verdict) >= _rank(best.get(report.exercise)):
            best[report.exercise] = report.verdict
    return Result(
        status=status,
        notes=notes,
        asked=handin.asked,
        missing=handin.missing,
        best=best,
        seconds=seconds,
        score=sum(exercises[i].points for i, verdict in best.items() if verdict["values"] == "PASS"),
        maximum=points(handin.asked, exercises) if handin.asked else None,
        outcome=outcome,
    )


def points(asked: Iterable[str], exercises: Mapping[str, object]) -> int:
    """The points of the exercises `asked`, all together."""
    return sum(exercises[i].points for i in asked)


def _rank(verdict: dict | None) -> int:
    """Of several answer cells for one exercise a pass counts first, then the last one that was attempted."""
    if verdict is None:
        return 0
    return {"PASS": 3, "NOT_ATTEMPTED": 1}.get(verdict["values"], 2)
