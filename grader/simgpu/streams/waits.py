"""The host waits for the device, or looks whether it is done: afterwards the host is ordered behind it."""

from __future__ import annotations

from grader.simgpu import clock, order, trace
from grader.simgpu.gputrace import calls, tell
from grader.simgpu.streams import debug
from grader.simgpu.streams.edges import Recorded, follow_legacy_rule
from grader.simgpu.streams.state import StreamState, device


def host_sync(stream: StreamState | None, why: str, checked: bool = True) -> None:
    """The host waits for all work of `stream`, or of the whole device if it is None; recorded as `why`.

    `checked`: it is one of the calls that `torch.cuda.set_sync_debug_mode` warns of or refuses.
    """
    __tracebackhide__ = True
    if checked:
        debug.check()
    _not_in_a_capture(stream)
    streams = device()
    if stream is None:
        clock.device().host_waits(None, why, order.here())
        for state in streams.all():
            order.host_sees(state.agent.snapshot())
        streams.busy.clear()
        streams.guards.release()
        tell(calls.DeviceSynchronizationCallbacks)
    else:
        follow_legacy_rule(stream)
        clock.device().host_waits(stream.lane, why, order.here())
        settled(stream)
        tell(calls.StreamSynchronizationCallbacks, stream.handle)
    _note(why, stream)


def waited(stream: StreamState, why: str) -> None:
    """The host has waited for all work of `stream` in a call whose cost says so."""
    _not_in_a_capture(stream)
    follow_legacy_rule(stream)
    settled(stream)
    tell(calls.StreamSynchronizationCallbacks, stream.handle)
    _note(why, stream)


def settled(stream: StreamState) -> None:
    """The host is ordered after all work of `stream`."""
    order.host_sees(stream.agent.snapshot())
    _settle(stream, stream.queued)


def host_waits_for(recorded: Recorded, why: str) -> None:
    """The host waits until what was recorded is reached."""
    _not_of_a_capture(recorded)
    clock.device().host_waits(recorded.mark, why, order.here())
    _reached(recorded)
    tell(calls.EventSynchronizationCallbacks, recorded.event)
    _note(why, recorded.stream)


def is_over(recorded: Recorded) -> bool:
    """Has it been reached at the host's time?"""
    _not_of_a_capture(recorded)
    if not clock.device().done(recorded.mark):
        return False
    _reached(recorded)
    return True


def is_idle(stream: StreamState) -> bool:
    """Is all work of `stream` over at the host's time?"""
    _not_in_a_capture(stream)
    if not clock.device().done(stream.lane):
        return False
    settled(stream)
    return True


def _not_in_a_capture(stream: StreamState | None) -> None:
    """CUDA's refusal to wait for a stream (None: for the device) whose work is being captured, not run."""
    __tracebackhide__ = True
    for capture in device().captures if stream is None else (stream.capture,):
        if capture is not None:
            capture.refuse()


def _not_of_a_capture(recorded: Recorded) -> None:
    __tracebackhide__ = True
    if recorded.captured is not None:
        recorded.captured[0].fail("cudaErrorCapturedEvent")
    for capture in device().captures:
        if capture.forbids_unsafe_calls():
            capture.refuse()


def _reached(recorded: Recorded) -> None:
    order.host_sees(recorded.snapshot)
    _settle(recorded.stream, recorded.queued)


def _settle(stream: StreamState, queued: int) -> None:
    """The host has waited for the first `queued` pieces of the stream's work."""
    streams = device()
    if stream.queued == queued:
        streams.busy.pop(stream, None)
    streams.guards.release()


def _note(why: str, stream: StreamState | None) -> None:
    if trace.active():
        trace.emit(trace.Sync(why, stream.name if stream is not None else "all streams"))
