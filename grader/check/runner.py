"""A whole check: cases from a secret seed, each call judged, one verdict."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from grader import simgpu

from ..exercises import Case, Exercise
from ..exercises.draw import Draw
from . import attempt, counts, hazards, jit_source, printed, warm
from .call import call
from .explain import tell
from .judge import Finding, judge
from .kernels import kernels_of
from .show import dtype_name
from .verdict import Reason, Values, Verdict, values_of

# reasons that another case of the same dtype would only repeat, after another compile
NO_MORE = (Reason.COMPILE, Reason.PARSE, Reason.RECOMPILED)


@dataclass
class Run:
    """What one pass over all cases found. `limits` are broken limits; values come first in a message."""

    tally: counts.Tally = field(default_factory=counts.Tally)
    findings: list[Finding] = field(default_factory=list)
    limits: list[Finding] = field(default_factory=list)
    passing: list[Case] = field(default_factory=list)
    families: dict[str, tuple[int, int]] = field(default_factory=dict)


def check(exercise: Exercise, candidate: object, seed: int | None = None) -> Verdict:
    """Judge `candidate` as an answer to `exercise`.

    Inputs are drawn from a new secret seed, or from `seed` to reproduce a verdict. On a real GPU the
    candidate is checked on the simulated one first (if there is a C++ compiler), and runs on the real one
    only if it passes. Nothing that the candidate raises escapes, KeyboardInterrupt excepted.
    """
    if attempt.is_untouched(candidate):
        return Verdict(
            exercise.id,
            Values.NOT_ATTEMPTED,
            Reason.NOT_ATTEMPTED,
            headline=f"{exercise.entry} is not written yet",
            gpu=_gpu(),
            explanation="Write it in the cell above, run that cell, and check again. If its cell stopped "
            "with an error, begin there. hint() helps.",
        )
    complaint = attempt.complaint(exercise, candidate)
    if complaint is not None:
        reason, headline, explanation = complaint
        return Verdict(
            exercise.id, values_of(reason), reason, headline=headline, explanation=explanation, gpu=_gpu()
        )
    try:
        hazards.raise_late_errors()
    except Exception as error:
        return _device_lost(exercise, error)
    seed = secrets.randbits(62) if seed is None else seed
    if simgpu.is_simulated() or not warm.can_compile():
        return _verdict(exercise, candidate, seed)
    with simgpu.simulated():
        modelled = _verdict(exercise, candidate, seed)
    if not modelled.passed:
        return modelled
    real = _verdict(exercise, candidate, seed)
    lines = modelled.lines if real.passed else real.lines
    return replace(real, counts=modelled.counts, lines=lines, warnings=modelled.warnings)


def _device_lost(exercise: Exercise, error: Exception) -> Verdict:
    """An earlier kernel ruined the device; the answer cannot be tried."""
    return Verdict(
        exercise.id,
        Values.ERROR,
        Reason.RAISED,
        headline="the GPU can no longer be used: a kernel that ran before this check ruined it",
        lines=tuple(str(error).splitlines()[:3]),
        explanation="Mend that kernel, restart the Python kernel (as with a real GPU), and run the cells "
        "from the top.",
        gpu=_gpu(),
    )


def _gpu() -> str:
    return "simulated" if simgpu.is_simulated() else "real"


def _verdict(exercise: Exercise, candidate: Callable, seed: int) -> Verdict:
    with printed.kept_back() as output:
        verdict = _judged(exercise, candidate, seed)
    said = output.warning()
    return replace(verdict, warnings=(*verdict.warnings, said)) if said else verdict


def _judged(exercise: Exercise, candidate: Callable, seed: int) -> Verdict:
    with simgpu.recording(fresh=True) as trace:
        run = _run(exercise, candidate, seed, trace.events)
        warnings = _warnings(exercise, candidate, run)
        # a text that changes is the cause, a kernel created in the call only its sign
        found = run.findings or sorted(
            run.limits, key=lambda finding: finding.reason is not Reason.RECOMPILED
        )
        if not found:
            return _passed(exercise, run, warnings)
        told = tell(
            exercise,
            candidate,
            found,
            run.passing,
            lambda case: judge(exercise, candidate, call(exercise, candidate, case, trace.events)),
        )
    return Verdict(
        exercise.id,
        values_of(told.reason),
        told.reason,
        headline=told.headline,
        lines=told.lines,
        explanation=told.explanation,
        warnings=warnings,
        counts=run.tally.summary(),
        families=run.families,
        seed=seed,
        gpu=_gpu(),
    )


def _run(exercise: Exercise, candidate: Callable, seed: int, events: list) -> Run:
    run, hopeless, before = Run(), set(), None
    warm.up(exercise, kernels_of(candidate))
    for number, family in enumerate(exercise.families):
        right = total = 0
        for case in family.make(Draw((seed, number))):
            total += 1
            if case.dtype in hopeless:
                continue
            outcome = call(exercise, candidate, case, events, before)
            before = outcome.placed
            finding = judge(exercise, candidate, outcome)
            if finding is not None:
                run.findings.append(finding)
            else:
                run.passing.append(case)
                if simgpu.is_simulated():
                    finding = counts.judge(exercise, family, outcome, run.tally)
                run.limits += [finding] if finding is not None else []
            right += finding is None
            if finding is not None and finding.reason in NO_MORE:
                hopeless.add(case.dtype)
        run.families[family.name] = (right, total)
    return run


def _warnings(exercise: Exercise, candidate: object, run: Run) -> tuple[str, ...]:
    codes = dict.fromkeys([kernel.code_string for kernel in kernels_of(candidate)] + run.tally.codes)
    # of kernels made anew for each call, each with its own constant, one is enough
    warnings = [text for text in map(jit_source.double_warning, codes) if text][:1]
    warnings += [text for text in map(jit_source.assignment_warning, codes) if text][:1]
    if exercise.limits.creates is None and run.tally.creates:
        warnings.append(
            "a kernel is created inside the function, anew at each call. Create it once, outside."
        )
    most = max(run.tally.compiles.values(), default=0)
    if exercise.limits.compiles is None and most > 1:
        warnings.append(
            f"another value of a keyword compiled the kernel again ({most} compiles for one dtype, modelled)."
            " A keyword that reaches the kernel as an argument does not."
        )
    return tuple(warnings)


def _passed(exercise: Exercise, run: Run, warnings: tuple[str, ...]) -> Verdict:
    total = sum(count for _, count in run.families.values())
    kinds = ", ".join(dtype_name(dtype) for dtype in exercise.dtypes)
    summary = run.tally.summary()
    lines = []
    if simgpu.is_simulated() and exercise.kind == "jiterator":
        lines.append(
            f"{summary['launches']:g} launch and {summary['passes']:g} passes over memory a call (modelled)"
        )
    return Verdict(
        exercise.id,
        Values.PASS,
        headline=f"{exercise.entry} is right in all {total} cases: {kinds}",
        lines=tuple(lines),
        warnings=warnings,
        counts=summary,
        families=run.families,
        gpu=_gpu(),
    )
