"""Verdicts about answer cells that leave nothing to check, and a look at verdicts that come from a
sandbox.
"""

from grader import simgpu
from grader.check import Reason, Values, Verdict, jit_source

_NAME_ERROR = (
    "Only set-up cells, answers and cells of your own are run for grading, from top to bottom; the lesson's "
    "demonstrations are not. Does this answer use a name that one of those makes?"
)
_ANY_ERROR = "Restart the kernel and run the notebook from top to bottom: does this cell still work?"


def from_error(exercise, error: BaseException, shortened: str) -> Verdict:
    """The answer cell raised before it defined the answer. `shortened`: the learner's line and the
    exception.
    """
    lines = tuple(shortened.splitlines())
    if broken_rule := _parser_rule(error):
        explanation = broken_rule[0].upper() + broken_rule[1:]
        return _error(exercise, Reason.PARSE, "jiterator could not read your code", lines[:1], explanation)
    headline = f"the cell stopped with {type(error).__name__} before `{exercise.entry}` was defined"
    explanation = _NAME_ERROR if isinstance(error, NameError) else _ANY_ERROR
    return _error(exercise, Reason.RAISED, headline, lines, explanation)


def _parser_rule(error: BaseException) -> str | None:
    """Which rule of jiterator's parser a kernel broke when the cell created it; None for any other error."""
    start, _, code = str(error).partition(":\n ") if type(error) is Exception else ("", "", "")
    return jit_source.explain(code) if start.startswith("Couldn't parse code") else None


def from_absence(exercise) -> Verdict:
    """The answer cell ran, but there is no such name afterwards."""
    return _error(
        exercise,
        Reason.RAISED,
        f"the answer cell defines no `{exercise.entry}`",
        (),
        f"The check looks for the name in the signature, {exercise.signature}. Is yours spelt so?",
    )


def _error(exercise, reason: Reason, headline: str, lines: tuple[str, ...], explanation: str) -> Verdict:
    return Verdict(
        exercise=exercise.id,
        values=Values.ERROR,
        reason=reason,
        headline=headline,
        lines=lines,
        explanation=explanation,
        warnings=(),
        counts={},
        families={},
        seed=0,
        gpu="simulated" if simgpu.is_simulated() else "real",
    )


def is_sound(record: dict, exercise_id: str) -> bool:
    """True if `record` is what Verdict.to_json() gives for this exercise, type by type: whatever reads it
    later can rely on it, also when a hand-in wrote it.
    """
    try:
        verdict = Verdict.from_json(record)
        texts = (verdict.headline, verdict.explanation, verdict.gpu, *verdict.lines, *verdict.warnings)
        numbers = (
            verdict.seed,
            *verdict.counts.values(),
            *(n for pair in verdict.families.values() for n in pair),
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    return (
        verdict.exercise == exercise_id
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, int | float) for number in numbers)
        and verdict.to_json() == record
    )
