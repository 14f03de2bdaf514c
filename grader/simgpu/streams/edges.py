"""What orders streams: recorded events, waits for them, and CUDA's rule of the legacy default stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.simgpu import clock, gputrace, order
from grader.simgpu.gputrace import calls
from grader.simgpu.streams.state import StreamState, device


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A point in a stream's queue: what is ordered before it, and when it is reached."""

    stream: StreamState
    snapshot: order.Snapshot
    mark: clock.Mark
    queued: int  # how much work stands before it in its stream
    captured: tuple[Any, Any] | None = (
        None  # recorded in the capture of a graph: the capture, its point there
    )
    event: int = 0  # its number, if anybody is told of it


def follow_legacy_rule(stream: StreamState) -> None:
    """Order what comes next on `stream` as CUDA's legacy default stream asks.

    The default stream and the blocking ones wait for each other; PyTorch's side streams are non-blocking.
    """
    streams = device()
    if not streams.blocking or not stream.blocking:
        return
    default = streams.default
    for other in streams.blocking if stream is default else (default,):
        if other in streams.busy:
            stream.agent.join(other.agent.snapshot())
            clocked = clock.device()
            clocked.wait(stream.lane, clocked.mark(other.lane, free=True), free=True)


def record(stream: StreamState, free: bool = False, event: int = 0) -> Recorded:
    """Record an event on `stream`; `free`: it takes no time. `event`: its `cuda_event`, if it has one."""
    if gputrace.heard():
        event = event or gputrace.unnamed_event()
        gputrace.tell(calls.EventRecordCallbacks, event, stream.handle)
    if stream.capture is not None:
        point = stream.capture, stream.capture.record(stream)
        return Recorded(
            stream, stream.agent.snapshot(), clock.device().mark(stream.lane, free=True), 0, point, event
        )
    follow_legacy_rule(stream)
    order.submitted(stream)
    mark = clock.device().mark(stream.lane, free=free)
    return Recorded(stream, stream.agent.snapshot(), mark, stream.queued, event=event)


def wait(stream: StreamState, recorded: Recorded, free: bool = False) -> None:
    """What is queued on `stream` from now on runs after what was `recorded`."""
    gputrace.tell(calls.EventWaitCallbacks, recorded.event, stream.handle)
    if recorded.captured is not None:
        capture, point = recorded.captured
        capture.wait(stream, point)
        return
    if stream.capture is not None:
        stream.capture.fail("cudaErrorStreamCaptureIsolation")
    follow_legacy_rule(stream)
    stream.agent.join(recorded.snapshot)
    clock.device().wait(stream.lane, recorded.mark, free=free)
