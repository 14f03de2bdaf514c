"""Telling recordings what the jiterator did."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from grader.simgpu import clock, trace
from grader.simgpu.aten import addressed_bytes
from grader.simgpu.jiterator.plan import Plan

_seen: set[tuple] = set()  # specialisations that this process has launched


def compiled(plan: Plan, width: int) -> None:
    """`plan` is about to run: is it new to the process, or to a recording that starts afresh?"""
    key = (plan.program, plan.dtype, width, plan.contiguous)
    dtype = str(plan.dtype).removeprefix("torch.")
    new = key not in _seen
    if new:
        clocked = clock.device()
        clocked.spend(clocked.profile.host.compile_jiterator, f"compile {plan.program.name}")
    event = trace.Compile(plan.program.name, plan.program.code, (dtype,), plan.compiled.cached or not new)
    _seen.add(key)
    plan.noted.add(width)
    for recording in trace.open_recordings():
        known = recording.__dict__.setdefault("specialisations", set())
        if new or (recording.fresh and key not in known):
            recording.add(event)
        known.add(key)


def launched(name: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    """A kernel ran. Each input is read once, however often it is given."""
    distinct = {(t.data_ptr(), t.dtype, tuple(t.shape), t.stride()): t for t in inputs}
    read = sum(map(addressed_bytes, distinct.values()))
    written = sum(map(addressed_bytes, outputs))
    trace.emit(trace.Launch(name, "jiterator", read, written, outputs[0].numel() if outputs else 0))
