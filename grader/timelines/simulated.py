"""A chart of a run on the simulated GPU."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

import torch

from grader.simgpu import clock
from grader.simgpu.streams import state
from grader.timelines.chart import Bar, Chart, Span

_KINDS = {"compute": "kernel"}
_NAMES = {"_local_scalar_dense": "Memcpy DtoH"}  # what .item() queues


def record(fn: Callable[[], object]) -> Chart:
    """Run fn() and return its chart."""
    device = clock.device()
    watched = state.device()
    watched.watchers += 1
    try:
        with device.recording() as recording:
            fn()
    finally:
        watched.watchers -= 1
    return chart(recording, device.profile.properties.name, _names_in(fn))


def chart(recording: clock.Recording, gpu: str, names: Mapping[clock.Lane, str] | None = None) -> Chart:
    """Return the chart of what was recorded. names: what to call streams, in place of their own names."""
    zero, names = recording.start, names or {}
    host: list[Span] = []
    spans: dict[int, Span] = {}
    for s in recording.host:
        if s.end > s.start or not host:  # what takes no time of its own belongs to the call before: a replay
            host.append(Span(_named(s.name), s.start - zero, s.end - zero, s.line))
        spans[id(s)] = host[-1]
    bars: dict[int, Bar] = {}
    for item in recording.items:
        bars[id(item)] = Bar(
            name=_named(item.name),
            stream=names.get(item.lane, item.lane.name) + _priority(item.lane),
            kind=_KINDS.get(item.engine, item.engine),
            start=item.start - zero,
            end=item.end - zero,
            ready=max(item.ready, min(item.ready_to_run, item.start)) - zero,
            why=item.why,
            launch=spans.get(id(item.span)),
            line=item.line,
        )
    for item in recording.items:
        bars[id(item)].after = bars.get(id(item.after))
    for span in recording.host:
        if span.on is not None:
            spans[id(span)].on = bars.get(id(span.on))
    return Chart(list(bars.values()), host, gpu, modelled=True)


def _named(name: str) -> str:
    for internal, known in _NAMES.items():
        name = name.replace(internal, known)
    return name


def _priority(lane: clock.Lane) -> str:
    return f" (priority {lane.priority})" if lane.priority else ""


def _names_in(fn: Callable[[], object]) -> dict[clock.Lane, str]:
    """What the variables that fn can see call the streams: `side`, `streams[0]`."""
    try:
        seen = inspect.getclosurevars(fn)
    except TypeError:  # no function of Python's
        return {}
    names: dict[clock.Lane, str] = {}
    for name, value in {**seen.nonlocals, **seen.globals}.items():
        several = isinstance(value, list | tuple)
        for i, stream in enumerate(value if several else [value]):
            if isinstance(stream, torch.Stream) and stream.stream_id != state.DEFAULT:
                lane = state.device().by_id(stream.stream_id).lane
                names.setdefault(lane, f"{name}[{i}]" if several else f"stream {name}")
    return names
