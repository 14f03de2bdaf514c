"""What is counted on the simulated GPU, against an exercise's limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from grader.simgpu.trace import Compile, Create, Launch

from ..exercises import Exercise, Family
from .call import Outcome, result_bytes
from .judge import Finding
from .show import dtype_name
from .verdict import Reason

SCALARS = 64  # bytes that a call may read beside its passes: 0-dim inputs


@dataclass
class Tally:
    """Counts of one whole check so far. `compiles` counts those of steady families for each (family,
    dtype).
    """

    creates: int = 0
    launches: int = 0
    passes: float = 0.0
    compiles: Counter = field(default_factory=Counter)
    codes: list[str] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        """The most launches and passes of a call, and the compiles and creates of the check."""
        return {
            "launches": self.launches,
            "passes": round(self.passes, 3),
            "compiles": max(self.compiles.values(), default=0),
            "creates": self.creates,
        }


def judge(exercise: Exercise, family: Family, outcome: Outcome, tally: Tally) -> Finding | None:
    """Add the call's events to the tally; the first limit that the call breaks, None if it breaks none."""
    launches = [event for event in outcome.events if isinstance(event, Launch)]
    compiles = [event for event in outcome.events if isinstance(event, Compile)]
    size = _size(outcome)
    tally.creates += sum(isinstance(event, Create) for event in outcome.events)
    tally.codes += [event.code for event in compiles if event.code not in tally.codes]
    moved = sum(event.bytes_read + event.bytes_written for event in launches)
    if size:
        tally.launches = max(tally.launches, len(launches))
        tally.passes = max(tally.passes, _passes(exercise.limits.passes, moved, size))
    if family.steady and size:
        tally.compiles[family.name, dtype_name(outcome.case.dtype)] += len(compiles)
    return (
        _fallback(exercise, outcome, launches, size)
        or _again(exercise, family, outcome, tally)
        or _work(exercise, outcome, launches, moved, size)
    )


def _size(outcome: Outcome) -> int:
    """Bytes of the call's result, or of its list of numbers as elements of the case's dtype."""
    first = outcome.case.args[0]
    return result_bytes(outcome.case) or (
        outcome.case.dtype.itemsize * len(first) if isinstance(first, list) else 0
    )


def _passes(limit: float | None, moved: int, size: int) -> float:
    """Passes over memory; beside a result of a few elements, the SCALARS that a call may read count none."""
    passes = moved / size
    return limit if limit is not None and limit * size < moved <= limit * size + SCALARS else passes


def _fallback(exercise, outcome, launches, size) -> Finding | None:
    if not size:
        return None
    torch_ops = [launch.name for launch in launches if launch.kind == "torch"]
    if torch_ops and not exercise.torch_ops_allowed:
        return Finding(
            Reason.FORBIDDEN_FALLBACK,
            outcome,
            (f"ran on the GPU: PyTorch's own {', '.join(sorted(set(torch_ops))[:4])}",),
            "The values are right, but PyTorch's own operations made them. The exercise asks for a kernel "
            "of yours that does all of it. Which line of your function is not a call of that kernel?",
        )
    if len(launches) >= exercise.limits.min_launches:
        return None
    if exercise.kind == "jiterator":
        return Finding(
            Reason.FORBIDDEN_FALLBACK,
            outcome,
            ("launched no kernel on the GPU",),
            "The values are right, but no kernel of yours computed them on the GPU. Where was it done?",
        )
    return Finding(
        Reason.NOT_ON_GPU,
        outcome,
        ("launched no kernel on the GPU",),
        "The values are right, but they were computed on the CPU. On which device does the tensor live at "
        "the moment when it is computed with?",
    )


def _again(exercise, family, outcome, tally) -> Finding | None:
    limits, dtype = exercise.limits, dtype_name(outcome.case.dtype)
    done = tally.compiles[family.name, dtype]
    if limits.compiles is not None and family.steady and done > limits.compiles:
        return Finding(
            Reason.RECOMPILED,
            outcome,
            (f"compiles for {dtype} so far: {done} (modelled); allowed: {limits.compiles}",),
            "The values are right, but a new number made a new kernel, and each one is compiled, which "
            "takes thousands of times longer than running it. What in your program changes the text of the "
            "kernel?",
        )
    if limits.creates is not None and tally.creates > limits.creates:
        return Finding(
            Reason.CREATED_IN_CALL,
            outcome,
            (f"kernels created during the calls so far: {tally.creates}",),
            "The values are right, and the text does not change, so PyTorch finds the compiled kernel "
            "again. But each call reads the text and builds the function anew. Which line could stand "
            "outside the function?",
        )
    return None


def _work(exercise, outcome, launches, moved, size) -> Finding | None:
    limits = exercise.limits
    if limits.launches is not None and len(launches) > limits.launches and size:
        return Finding(
            Reason.TOO_MANY_LAUNCHES,
            outcome,
            (f"launches: {len(launches)} (modelled); allowed: {limits.launches}",),
            "The values are right, but you start several kernels, and between them the intermediate result "
            "goes to memory and back. Can one kernel do all of it?",
        )
    if limits.passes is not None and moved > limits.passes * size + SCALARS:
        return Finding(
            Reason.TOO_MUCH_TRAFFIC,
            outcome,
            (f"passes over memory: {moved / size:.1f} (modelled); allowed: {limits.passes:g}",),
            "The values are right, but more bytes move than are needed. Which input is read that need not "
            "be, or read twice?",
        )
    return None
