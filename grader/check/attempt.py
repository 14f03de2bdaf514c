"""Has the learner written anything yet, and is it something that can be called?"""

from __future__ import annotations

import dis
import types

from ..exercises import Exercise
from . import jit_source
from .verdict import Reason

_PADDING = {"RESUME", "NOP", "CACHE", "PRECALL", "COPY_FREE_VARS", "MAKE_CELL"}


def is_untouched(candidate: object) -> bool:
    """True for None, `...`, and a Python function whose body does nothing (a docstring, pass, `...`,
    return None).
    """
    if candidate is None or candidate is Ellipsis:
        return True
    if not isinstance(candidate, types.FunctionType):
        return False
    steps = [step for step in dis.get_instructions(candidate.__code__) if step.opname not in _PADDING]
    names = [step.opname for step in steps]
    if names == ["RETURN_CONST"]:
        return steps[0].argval is None
    return names == ["LOAD_CONST", "RETURN_VALUE"] and steps[0].argval is None


def complaint(exercise: Exercise, candidate: object) -> tuple[Reason, str, str] | None:
    """Reason, headline and explanation if `candidate` cannot be called, else None."""
    entry = exercise.entry
    if isinstance(candidate, str) and (exercise.kind != "jiterator" or candidate.strip() == entry):
        return (
            Reason.NOT_CALLABLE,
            f"{entry} was handed over as a string",
            f"Hand over the function itself, without quotes: check({entry}).",
        )
    if isinstance(candidate, str):
        rule = jit_source.explain(candidate)
        headline = f"{entry} is a string, not a kernel yet"
        make = (
            "A string is only text. torch.cuda.jiterator._create_jit_fn(text) makes a kernel of it; name "
            f"that {entry} and check it again."
        )
        return (
            Reason.NOT_CALLABLE,
            headline,
            make if rule is None else f"{make} And it will not be read as it is: {rule}",
        )
    if not callable(candidate):
        kind = type(candidate).__name__
        return (
            Reason.NOT_CALLABLE,
            f"{entry} is of type {kind}, which cannot be called",
            f"The check calls {exercise.signature.split(' ->')[0]} itself, with its own inputs. Hand it "
            f"the function (`{entry}`), not the result of a call.",
        )
    return None
