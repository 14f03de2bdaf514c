"""What an exercise asks, its hints and its solution."""

from grader.display.document import Document, Fields, Head, Mono, Prose, Tone
from grader.display.rendered import Rendered, render
from grader.display.words import plural
from grader.exercises import Exercise, Limits

_SOLUTION_NOTED = "solution() costs nothing, it is noted in your progress"


def card(exercise: Exercise, hints_left: int, simulated: bool) -> Rendered:
    """Return the card of an `Exercise`: its task, what is promised and graded, and what help is left."""
    timed = "   (not timed here: no GPU)" if simulated else ""
    blocks = (
        Head("", exercise.id, aside=plural(exercise.points, "point"), title_is_code=True),
        Prose(exercise.task),
        Fields(
            (
                ("signature", exercise.signature),
                ("promised", exercise.promised),
                ("allowed", _allowed(exercise)),
                ("graded", _graded(exercise.limits) + timed),
            )
        ),
        Prose(f"hint() {hints_left} left · {_SOLUTION_NOTED}", quiet=True),
    )
    return render(Document(f"Exercise {exercise.id}: {exercise.title}", Tone.CARD, blocks))


def hint(exercise: Exercise, shown: int) -> Rendered:
    """Return hint number `shown` of an exercise, counted from 1; past the last one, all of them once more."""
    total = len(exercise.hints)
    if shown > total:
        numbered = tuple((f"hint {i}", text) for i, text in enumerate(exercise.hints, 1))
        blocks = (Head("", exercise.id, (f"all {total} hints",), title_is_code=True), Fields(numbered))
    else:
        left = total - shown
        after = f"{left} left: hint() again" if left else "no more hints; solution() shows one answer"
        blocks = (
            Head("", exercise.id, (f"hint {shown} of {total}",), title_is_code=True),
            Prose(exercise.hints[shown - 1]),
            Prose(after, quiet=True),
        )
    return render(Document(f"Hint for {exercise.id}", Tone.CARD, blocks))


def solution(exercise: Exercise) -> Rendered:
    """Return one good answer as code, and where it stands in its lesson."""
    blocks = (
        Head("", exercise.id, ("one good answer",), title_is_code=True),
        Mono(tuple(exercise.solution.strip("\n").split("\n"))),
        Prose(f"it stands in `solutions/`, lesson {exercise.lesson:02d} · {_SOLUTION_NOTED}", quiet=True),
    )
    return render(Document(f"Solution of {exercise.id}", Tone.CARD, blocks))


def note(about: str, text: str) -> Rendered:
    """Return a short remark that is no verdict, such as how to call `check`."""
    blocks = (Head("", about, title_is_code=True), Prose(text))
    return render(Document(f"Note about {about}", Tone.OPEN, blocks))


def _allowed(exercise: Exercise) -> str:
    own = "your own jiterator kernel" if exercise.kind == "jiterator" else "your own code"
    return f"{own}, and any torch operation" if exercise.torch_ops_allowed else f"{own}; no torch operation"


def _graded(limits: Limits) -> str:
    counted = []
    if limits.passes is not None:
        counted.append(plural(limits.passes, "pass over memory", "passes over memory"))
    if limits.launches is not None:
        counted.append(plural(limits.launches, "launch", "launches"))
    if limits.compiles is not None:
        counted.append(plural(limits.compiles, "compile") + " for each dtype")
    if limits.creates is not None:
        counted.append(plural(limits.creates, "kernel") + " created for all calls together")
    return "; ".join(("values", ", ".join(counted))) if counted else "values"
