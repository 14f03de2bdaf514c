"""What a check found, in words."""

from grader.check.verdict import Reason, Speed, Values, Verdict
from grader.display.document import Block, Document, Head, Mono, Prose, Tone
from grader.display.rendered import Rendered, render
from grader.display.words import plural
from grader.exercises import Exercise

_TONES = {
    Values.PASS: Tone.GOOD,
    Values.WRONG: Tone.WRONG,
    Values.UNSAFE: Tone.DANGER,
    Values.ERROR: Tone.TROUBLE,
    Values.NOT_ATTEMPTED: Tone.OPEN,
}
_SPEEDS = {
    Speed.FAST: "fast",
    Speed.INCONCLUSIVE: "inconclusive (too noisy to say: run the check again)",
    Speed.NOT_TIMED: "not timed",
}
_FEW = 3  # kinds of cases that are worth naming one by one
_SAME_FOR_ALL_INPUTS = (Reason.PARSE, Reason.COMPILE, Reason.NOT_CALLABLE)


def verdict(found: Verdict, exercise: Exercise) -> Rendered:
    """Return a `Verdict` on `exercise` in words.

    A pass says what was counted and holds nothing that changes from run to run. Anything else names the fact,
    shows the smallest case and says what it usually means; the seed that makes the inputs again comes last.
    """
    blocks: list[Block]
    tone = _TONES[found.values]
    if found.values is Values.PASS and found.speed is Speed.SLOW:
        blocks, tone = _slow(found, exercise), Tone.TROUBLE
    elif found.values is Values.PASS:
        blocks = _passed(found, exercise)
    elif found.values is Values.NOT_ATTEMPTED:
        blocks = [Head("NOT ATTEMPTED", found.exercise, (found.headline,)), *_told(found)]
    else:
        blocks = _failed(found)
    blocks += [Prose(f"warning: {text}") for text in found.warnings]
    label = f"Verdict for {found.exercise}: {blocks[0].badge}"
    return render(Document(label, tone, tuple(blocks)))


def _passed(found: Verdict, exercise: Exercise) -> list[Block]:
    facts = (plural(exercise.points, "point"), _counted(found, exercise), _speed(found))
    blocks: list[Block] = [Head("PASS", found.exercise, facts)]
    if found.headline:
        blocks.append(Prose(found.headline))
    if found.families:
        blocks.append(Prose(f"kinds of cases: {' · '.join(found.families)}", quiet=True))
    return blocks


def _slow(found: Verdict, exercise: Exercise) -> list[Block]:
    values = ": ".join(part for part in ("the values are right", _counted(found, exercise)) if part)
    return [Head("SLOW", found.headline or found.exercise), *_told(found), Prose(values, quiet=True)]


def _failed(found: Verdict) -> list[Block]:
    named = found.reason is not None and found.values is not Values.ERROR
    badge = f"{found.values} ({found.reason})" if named else str(found.values)
    blocks = [Head(badge, found.headline), *_told(found), *_cases(found)]
    if found.seed and found.reason not in _SAME_FOR_ALL_INPUTS:  # 0: no inputs were drawn
        blocks.append(Prose(f"the same inputs again: check(..., seed={found.seed})", quiet=True))
    return blocks


def _told(found: Verdict) -> list[Block]:
    blocks: list[Block] = [Mono(tuple(found.lines))] if found.lines else []
    if found.explanation:
        blocks.append(Prose(found.explanation))
    return blocks


def _cases(found: Verdict) -> list[Block]:
    """Say how many cases passed, and where the others are, if that is not nearly everywhere."""
    if not found.families:
        return []
    passed, total = (sum(counts) for counts in zip(*found.families.values(), strict=True))
    failing = [f"{name} {ok} of {of}" for name, (ok, of) in found.families.items() if ok < of]
    where = f" ({', '.join(failing)})" if 0 < len(failing) <= _FEW else ""
    return [Prose(f"cases passed: {passed} of {total}{where}", quiet=True)]


def _counted(found: Verdict, exercise: Exercise) -> str:
    """Say launches and passes, and compiles where the exercise limits them."""
    named = [("launches", "launch", "launches"), ("passes", "pass over memory", "passes over memory")]
    if exercise.limits.compiles is not None:
        named.append(("compiles", "compile", "compiles"))
    counts = [plural(found.counts[key], one, many) for key, one, many in named if found.counts.get(key)]
    return f"{', '.join(counts)} (modelled)" if counts else ""


def _speed(found: Verdict) -> str:
    why = " (no GPU)" if found.speed is Speed.NOT_TIMED and found.gpu == "simulated" else ""
    return f"speed: {_SPEEDS[found.speed]}{why}"
