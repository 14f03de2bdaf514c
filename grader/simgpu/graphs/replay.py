"""The replay of a CUDA graph: its work is queued again, as it was captured, on the current stream.

The first branch of the graph runs on the stream of the replay, each other one on a stream of the graph's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from grader.simgpu import asserts, clock, order, pinned, streams, trace, work
from grader.simgpu.graphs import outside
from grader.simgpu.graphs.capture import Capture, Node, Point
from grader.simgpu.graphs.lines import Replay
from grader.simgpu.streams import state


class Executable:
    """A captured graph, ready to be replayed. It keeps the memory that it made."""

    def __init__(self, capture: Capture):
        self._steps = capture.steps
        self._pool, self._outside = capture.pool, capture.outside
        self._totals = capture.draws.totals
        # Findings speak of the streams of the capture: the branches bear their ids and names.
        self._branches = [streams.StreamState(0, s.id, s.name) for s in capture.branches()[1:]]
        self._last: tuple[streams.StreamState, order.Snapshot, clock.Mark] | None = None

    def replay(self) -> None:
        """Queue the graph's work on the current stream."""
        stream = streams.current()
        bases = {generator: generator.get_offset() for generator in self._totals}
        now = _Now(Replay(order.here()), bases, self._outside.gone())
        if stream.capture is None:
            self._run(stream, now)
        else:  # a part of another graph, all in the order of one stream
            for step in self._steps:
                if isinstance(step, Node):
                    _launch(step, stream, now)
        for generator, total in self._totals.items():
            generator.set_offset(bases[generator] + total)

    def _run(self, stream: streams.StreamState, now: _Now) -> None:
        device = clock.device()
        device.spend(device.profile.host.graph, "graph replay", now.replay.line)
        if self._last is not None and self._last[0] is not stream:  # a graph does not overlap with itself
            _join(stream, *self._last[1:])
        on = [stream, *self._branches]
        points: dict[int, Any] = {}
        for step in self._steps:
            branch = on[step.branch]
            if isinstance(step, Node):
                _launch(step, branch, now)
            elif isinstance(step, Point):
                points[id(step)] = branch.agent.snapshot(), device.mark(branch.lane, free=True)
            else:
                _join(branch, *points[id(step.point)])
        for branch in self._branches:  # joined again: whoever waits for `stream` waits for them
            state.device().busy.pop(branch, None)
        self._last = stream, stream.agent.snapshot(), device.mark(stream.lane, free=True)


@dataclass(frozen=True, slots=True)
class _Now:
    """A replay that runs: where the generators stood, and what lies in the place of freed memory."""

    replay: Replay
    bases: dict
    gone: work.Storages


def _join(stream: streams.StreamState, snapshot: order.Snapshot, mark: clock.Mark) -> None:
    stream.agent.join(snapshot)
    clock.device().wait(stream.lane, mark, free=True)


def _launch(node: Node, stream: streams.StreamState, now: _Now) -> None:
    captured = node.work
    if now.gone and any(a.key in now.gone for a in (*captured.reads, *captured.writes)):
        outside.report(captured, now.gone, now.replay.line)
    cost = replace(captured.cost, host=0.0) if captured.cost is not None else None
    piece = work.Work(
        captured.name, captured.kind, stream, captured.reads, captured.writes, cost, captured.engine,
        now.replay.of(captured.line), captured.rerun,
    )  # fmt: skip
    if node.draw is not None:
        captured.rerun.reseed(node.draw.seed(now.bases[node.draw.generator]))
    with work.on_device(piece):
        if captured.rerun is not None:
            _compute(piece, now.gone)
    host = None if node.host is None else node.host()
    if host is not None:
        pinned.guard(host, stream)
    for event in node.launches:
        trace.emit(event)


def _compute(piece: work.Work, gone: work.Storages) -> None:
    if piece.engine != "d2h" or piece.stream.capture is not None:
        asserts.replay(piece.rerun, gone)
        return
    source, target = piece.reads[0], piece.writes[0]
    if target.key not in gone:
        order.download(piece, target.tensor(), source.tensor(gone.get(source.key)).clone())
