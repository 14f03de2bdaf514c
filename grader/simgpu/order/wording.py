"""Findings about two accesses, in the learner's names."""

from __future__ import annotations

from typing import Any

from grader.simgpu.order import names
from grader.simgpu.order.findings import Finding
from grader.simgpu.order.lines import Line
from grader.simgpu.order.records import Op, Read, Write


def finding(kind: str, access: Any, earlier: Read | Write, later: Op) -> Finding:
    """The finding that `later`, whose `access` it is, is not ordered after `earlier`."""
    early, late = earlier.line, later.line
    if early is not None and late is not None:
        early, late = early.within(late), late.within(early)
    (first, a), (second, b) = names.of_stream(earlier.agent), names.of_stream(later.agent)
    if kind == "use_after_free":
        tensor = names.of_freed(access, early)
        missing = (
            f"{tensor}.record_stream({a}) before {tensor} is freed, or {b}.wait_stream({a})."
            if tensor.isidentifier()
            else f"record_stream({a}) on it before it is freed, or {b}.wait_stream({a})."
        )
    else:
        tensor = names.of_tensor(access, (late, early))
        missing = f"{b}.wait_stream({a}) before {_where(late)} (or an event)."
    return Finding(kind, tensor, early, late, first, second, missing)


def host_finding(kind: str, access: Any, earlier: Read | Write, line: Line | None, seen: bool) -> Finding:
    """The finding that the host touched pinned memory before the copy `earlier` was over: at `line` if that
    was `seen`, else somewhere before it.
    """
    stream, code = names.of_stream(earlier.agent)
    tensor = names.of_tensor(access, (line, earlier.line))
    wait = f"{code}.synchronize() (or an event's)"
    if seen:
        return Finding(kind, tensor, earlier.line, line, stream, "the host", f"{wait} before {_where(line)}.")
    what = (
        f"{tensor} was changed on the host after your {earlier.line} on {stream} had been queued and before "
        f"your {line}\nThe copy of your line {earlier.line.number if earlier.line else '?'} may still have "
        f"been on its way: nothing made the host wait for it."
    )
    return Finding(kind, tensor, earlier.line, line, stream, "the host", f"{wait} before the change.", what)


def _where(line: Line | None) -> str:
    return "this line" if line is None else f"line {line.number}"
