"""What is ordered before what on the simulated GPU, and what becomes visible where nothing is.

Work runs at once, in the order of the program. Around each piece of it `before` and `after` see to it that
it reads what its stream is *guaranteed* to see: not what another stream wrote without being waited for, and
what a later one may overwrite in time. Each such pair of accesses is a `Finding`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from grader.simgpu import memory
from grader.simgpu.order import allocation, turns
from grader.simgpu.order import host as _host
from grader.simgpu.order.checks import after, before
from grader.simgpu.order.clocks import Agent, Snapshot
from grader.simgpu.order.downloads import download
from grader.simgpu.order.findings import Finding, HazardWarning
from grader.simgpu.order.lines import Line, here
from grader.simgpu.order.state import order, reset

__all__ = [
    "Agent", "Finding", "HazardWarning", "Line", "Snapshot", "after", "allocated", "before",
    "clear_findings", "collect", "download", "findings", "handed", "here", "host", "host_looks",
    "host_reads", "host_sees", "host_writes", "host_wrote", "new_agent", "now", "numpy_view", "recorded",
    "report", "reset", "submitted", "wrote_untracked",
]  # fmt: skip


def new_agent(name: str) -> Agent:
    """The agent of a new stream, which learners know as `name`."""
    return order().new_agent(name)


def host() -> Agent:
    """The host: what one of its threads waited for is over, for all of them."""
    return order().host


def submitted(stream: Any) -> None:
    """Something is queued on `stream`: it comes after what the host has waited for."""
    agent = stream.agent
    agent.stream_id = stream.id
    agent.join(order().host.snapshot())
    agent.tick()


def host_sees(snapshot: Snapshot) -> None:
    """The host has waited for all that `snapshot` holds."""
    state = order()
    state.syncs += 1
    if all(state.host.clock.get(n, 0) >= e for n, e in snapshot.clock.items()):
        return
    with state.lock:
        if state.open:
            turns.await_contents(state)
        allocation.bury(state)
        state.host.join(snapshot)
        _host.land(state)
        allocation.forget(state)


def host_reads(t: torch.Tensor) -> None:
    """The host is about to read the pinned tensor `t` through PyTorch."""
    with order().lock:
        _host.reads(order(), t)


def host_writes(t: torch.Tensor) -> None:
    """The host is about to change the pinned tensor `t` through PyTorch."""
    with order().lock:
        _host.writes(order(), t)


def host_looks() -> None:
    """The host is about to wait for a result of the device's."""
    with order().lock:
        _host.looks(order())


def host_wrote(t: torch.Tensor) -> None:
    """The host has changed the pinned tensor `t` through PyTorch."""
    with order().lock:
        _host.wrote(order(), t)


def numpy_view(t: torch.Tensor, array: Any) -> None:
    """`array` is a new NumPy view of the pinned tensor `t`."""
    with order().lock:
        _host.numpy_view(order(), t, array)


def allocated(t: torch.Tensor, stream: Any, written: bool = False) -> None:
    """`t` is new memory of `stream`; `written`: it has values, whose making nobody followed.

    It may be moved into a block that was freed, as CUDA's allocator does: ask for its address afterwards.
    """
    if stream.capture is not None:
        stream.capture.keep(t)
    else:
        allocation.allocated(order(), t, stream, written)


def wrote_untracked(t: torch.Tensor) -> None:
    """`t` was overwritten on the current stream by work that nobody followed."""
    allocation.wrote_untracked(order(), t)


def recorded(t: torch.Tensor, stream: Any) -> None:
    """`t.record_stream(stream)`: when it is freed, its block waits for what `stream` has queued by then."""
    allocation.recorded(order(), t, stream)


def now() -> int:
    """A number that work and memory of later get larger ones than."""
    return next(order().numbers)


def handed(storage: torch.UntypedStorage, stream: Any, since: int = 0) -> None:
    """Autograd's engine hands `stream` a gradient in `storage`: like `recorded`, if that memory is newer than
    `since` and another stream's.
    """
    allocation.handed(order(), storage, stream, since)


def report(finding: Finding) -> None:
    """Add `finding` to those of this process: collected where somebody collects, else warned once."""
    order().findings.report(finding)


def findings() -> list[Finding]:
    """What was found since the last `clear_findings`, each pair of lines once."""
    return list(order().findings.found.values())


def clear_findings() -> None:
    order().findings.clear()


@contextlib.contextmanager
def collect() -> Iterator[list[Finding]]:
    """Collect the findings of the block in a list; they are not warned meanwhile."""
    with order().findings.collect() as collected:
        yield collected


memory.followers.born = allocation.born
memory.followers.buried = allocation.buried
memory.followers.recorded = recorded
memory.followers.emptied = allocation.emptied
