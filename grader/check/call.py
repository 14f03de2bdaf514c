"""One call of the learner's function on one case: inputs placed, output memory poisoned, everything
observed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from grader.simgpu import order

from ..exercises import Case, Exercise, Expected
from . import errors, hazards, place, show
from .verdict import Told


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a call: the answer as it was returned, or the exception that it raised.

    host     a plain CPU copy of an answer that is a GPU tensor, else None
    changed  position of an argument that the call changed, None if it changed none
    aliased  position of an argument in whose memory the answer lies, None if it has its own
    events   launches, compiles and creates of this call (simulated GPU only)
    unsafe   a race, unordered work or a stray access during the call, None if there was none (likewise)
    """

    case: Case
    placed: place.Placed
    answer: object = None
    error: BaseException | None = None
    host: torch.Tensor | None = None
    changed: int | None = None
    aliased: int | None = None
    events: tuple = ()
    unsafe: Told | None = None


def call(
    exercise: Exercise, candidate: Callable, case: Case, events: list, before: place.Placed | None = None
) -> Outcome:
    """Call `candidate`, an answer to `exercise`, on the case. Nothing that it raises escapes but
    KeyboardInterrupt, which then says what ran.

    `events` is the list to which the open recording adds. The expected answer is not computed before the call
    returns, so that no memory holds it.
    """
    placed = place.place(case, before if case.renew else None)
    with order.collect() as found:
        try:
            answer, seen = _run(exercise, candidate, case, placed, events)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            hazards.settle()
            return Outcome(case, placed, error=error, unsafe=hazards.told(found, error))
        on_gpu = place.is_on_gpu(answer)
        host = place.to_host(answer) if on_gpu else None
        hazards.settle()
    return Outcome(
        case,
        placed,
        answer,
        host=host,
        changed=place.changed_input(case, placed),
        aliased=place.shares_memory(answer, placed) if on_gpu else None,
        events=seen,
        unsafe=hazards.told(found),
    )


def _run(
    exercise: Exercise, candidate: Callable, case: Case, placed: place.Placed, events: list
) -> tuple[object, tuple]:
    """What the candidate returned, and the events of its call."""
    began = time.monotonic()
    try:
        with place.poisoned(result_bytes(case)):
            start = len(events)
            answer = candidate(*placed.args, **case.kwargs)
            seen = tuple(events[start:])
        hazards.raise_late_errors()
        return answer, seen
    except KeyboardInterrupt as stop:
        where = "".join(f"\n{line}" for line in errors.own_lines(stop))
        what = show.invocation(exercise, case)
        took = time.monotonic() - began
        raise KeyboardInterrupt(
            f"stopped while {what} ran ({took:.0f} s): does a loop in it never end?{where}"
        ) from None


def result_shape(case: Case) -> tuple[int, ...]:
    """The shape to which the case's tensors broadcast."""
    return tuple(torch.broadcast_shapes(*(arg.shape for arg in case.args if isinstance(arg, torch.Tensor))))


def result_bytes(case: Case) -> int:
    """Size of the case's result on the GPU in bytes; 0 if it takes no tensors."""
    if not any(isinstance(arg, torch.Tensor) for arg in case.args):
        return 0
    return int(np.prod(result_shape(case))) * case.dtype.itemsize


def expected(exercise: Exercise, case: Case) -> Expected:
    """The oracle's answer; NumPy's warnings about infinities and NaN are not for learners."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exercise.oracle(case)
