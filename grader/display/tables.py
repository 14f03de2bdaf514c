"""The learner's progress, the doctor's findings and the simulated GPU's limits, as tables."""

from collections.abc import Mapping, Sequence

from grader.display.document import Block, Document, Fields, Head, Prose, Table, Tone
from grader.display.rendered import Rendered, render
from grader.display.words import plural


def progress(by_lesson: Mapping[int, Sequence], records: Mapping) -> Rendered:
    """Return what is done: for each lesson how much, and how each of its exercises stands.

    by_lesson: lesson number -> its `Exercise`s. records: exercise id -> `grader.progress_file.Record`,
    for those touched so far.
    """
    everything = [ex for exercises in by_lesson.values() for ex in exercises]
    done = [ex for ex in everything if ex.id in records and records[ex.id].passed]
    total = f"{len(done)} of {plural(len(everything), 'exercise')} done"
    rows: list[tuple[str, ...]] = []
    tones: list[Tone | None] = []
    for lesson, exercises in by_lesson.items():
        passed = [ex for ex in exercises if ex in done]
        share = f"{len(passed)} of {len(exercises)} done"
        rows += [(f"lesson {lesson:02d}", _points(passed, exercises), share, "")]
        rows += [(ex.id, *_standing(ex, records.get(ex.id))) for ex in exercises]
        tones += [None, *(Tone.GOOD if ex in passed else Tone.OPEN for ex in exercises)]
    blocks = (
        Head("", "your progress", (total,), aside=f"{_points(done, everything)} points"),
        Table(("exercise", "points", "state", "help used"), tuple(rows), tuple(tones)),
    )
    tone = Tone.GOOD if len(done) == len(everything) else Tone.CARD
    return render(Document("Your progress", tone, blocks))


def doctor(findings: Sequence) -> Rendered:
    """Return what the doctor found: each finding has `name`, `status`, `detail` and `fix` ('' for none)."""
    bad = sum(f.status in ("warn", "bad") for f in findings)
    headline = f"{plural(bad, 'finding')} to look at" if bad else "everything that the course needs is here"
    rows = tuple((_WORDS[f.status], f.name, _with_fix(f.detail, f.fix)) for f in findings)
    blocks = (
        Head("", "doctor", (headline,)),
        Table(("state", "what", "found"), rows, tuple(_TONES[f.status] for f in findings)),
    )
    return render(Document(f"Doctor: {headline}", Tone.TROUBLE if bad else Tone.GOOD, blocks))


def limits(entries: Sequence) -> Rendered:
    """Return where the simulated GPU differs: each entry has `topic`, `name`, `real`, `here` and `why`."""
    blocks: list[Block] = [
        Head("", "the simulated GPU", (f"{plural(len(entries), 'difference')} from a real one",))
    ]
    for entry in entries:
        blocks.append(Prose(f"{entry.topic}: {entry.name}"))
        blocks.append(Fields((("a real GPU", entry.real), ("here", entry.here), ("because", entry.why))))
    return render(Document("Where the simulated GPU differs from a real one", Tone.CARD, tuple(blocks)))


_TONES = {"ok": Tone.GOOD, "note": Tone.OPEN, "warn": Tone.TROUBLE, "bad": Tone.WRONG}
_WORDS = {"ok": "ok", "note": "note", "warn": "look", "bad": "fix"}


def _with_fix(detail: str, fix: str) -> str:
    return f"{detail.rstrip('.')}. Fix: {fix}" if fix else detail


def _points(done: Sequence, of: Sequence) -> str:
    return f"{sum(ex.points for ex in done)} of {sum(ex.points for ex in of)}"


def _standing(exercise, record) -> tuple[str, str, str]:
    if record is None:
        return f"0 of {exercise.points}", "not started", ""
    state = "passed" if record.passed else "not passed yet"
    if record.attempts and not record.passed:
        state += f" ({plural(record.attempts, 'try', 'tries')})"
    help_used = [plural(record.hints, "hint")] if record.hints else []
    help_used += ["solution"] if record.solution_seen else []
    return f"{exercise.points if record.passed else 0} of {exercise.points}", state, ", ".join(help_used)
