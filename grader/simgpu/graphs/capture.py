"""The capture of a CUDA graph: what is queued on its streams is noted instead of being run.

Python needs results to go on with, so each operation does compute its values while it is captured. When the
capture ends everything that it changed is put back, and what it made is filled with rubbish: as on a GPU,
nothing has run. The memory that it made is the graph's own and stays while the graph lives.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import memory, streams, trace
from grader.simgpu.graphs import draws, errors
from grader.simgpu.graphs.outside import Outside
from grader.simgpu.graphs.pools import Pool
from grader.simgpu.streams import state

_untyped_storage = torch.Tensor.untyped_storage


@dataclass(slots=True, eq=False)
class Node:
    """A piece of work of the graph. `branch` numbers the stream that it was captured on; 0 is the first."""

    branch: int
    work: Any
    draw: draws.Draw | None = None
    launches: list[trace.Event] = field(default_factory=list)  # what a recording is told at each replay
    host: weakref.ref | None = None  # the pinned tensor that a copy reads or writes


@dataclass(slots=True, eq=False)
class Point:
    """An event recorded on a branch."""

    branch: int


@dataclass(slots=True, eq=False)
class Wait:
    """A branch waits for a point of another one."""

    branch: int
    point: Point


class Capture:
    """A capture that is under way.

    `mode`: "global", "thread_local" or "relaxed": whose unsafe calls CUDA refuses meanwhile.
    """

    def __init__(self, stream: streams.StreamState, pool: Pool, mode: str, generators: set):
        self.stream, self.pool, self.mode = stream, pool, mode
        self.thread = threading.get_ident()
        self.steps: list[Node | Point | Wait] = []
        self.failed = False
        self.draws = draws.Draws(generators)
        self._branches: dict[streams.StreamState, int] = {stream: 0}
        self._queued: list[int] = [0]  # work of each branch
        self._seen: list[dict[int, int]] = [{}]  # how much work of others each branch comes after
        self._points: dict[int, tuple[int, dict[int, int]]] = {}  # by the point's id: what it comes after
        self._made: dict[int, tuple[Any, int]] = {}  # storages made meanwhile; the byte to fill each with
        self._before: dict[int, tuple[Any, bytes]] = {}  # others that it wrote, as they were
        self._last: Node | None = None
        self._launches: list[trace.Event] | None = None  # of the work that computes its values now
        self._used: dict[int, Any] = {}  # all storages that it addresses but did not make
        self.outside: Outside | None = None  # the same when the capture is over
        stream.capture = self
        device = state.device()
        device.watchers += 1
        device.captures.append(self)
        trace.takers.append(self.take)

    # -------------------------------------------------------------- what the streams ask

    def enter(self, work: Any) -> None:
        """`work` is about to be queued on a stream of the capture."""
        __tracebackhide__ = True
        self.check()
        if work.engine == "h2d" and not work.reads:  # from pageable memory
            self.refuse()
        for access in (*work.reads, *work.writes):
            storage = access.storage()
            if storage is not None and access.key not in self._made:
                self._used[access.key] = storage
        for access in work.writes:
            storage = self._used.get(access.key)
            if storage is not None and access.key not in self._before:
                contents = ctypes.string_at(storage.data_ptr(), storage.nbytes())
                self._before[access.key] = storage, contents
        self._launches = []

    def leave(self, work: Any, failed: bool) -> None:
        """`work` has computed its values, or `failed` to."""
        launches, self._launches = self._launches, None
        if failed:
            return
        branch = self._branches[work.stream]
        self._queued[branch] += 1
        self._last = Node(branch, work, self.draws.of(work.rerun), launches)
        self.steps.append(self._last)

    def keep(self, t: torch.Tensor) -> None:
        """`t` is new memory of a stream of the capture."""
        memory.reserve(t)  # no work has written it yet
        with PlainTensors():
            storage = _untyped_storage(t)
        self.pool.storages[storage._cdata] = storage
        self._made[storage._cdata] = storage, 0 if t.dtype is torch.bool else 0xFF

    def guard(self, t: torch.Tensor) -> None:
        """The last work reads or writes the host's pinned tensor `t`."""
        self._last.host = weakref.ref(t)

    def record(self, stream: streams.StreamState) -> Point:
        """An event is recorded on `stream`, which captures."""
        self.check()
        branch = self._branches[stream]
        point = Point(branch)
        self._points[id(point)] = branch, {**self._seen[branch], branch: self._queued[branch]}
        self.steps.append(point)
        return point

    def wait(self, stream: streams.StreamState, point: Point) -> None:
        """`stream` waits for a point of this capture; a stream of no capture joins it."""
        if self.outside is not None:  # the capture is over
            raise errors.error("cudaErrorCapturedEvent")
        self.check()
        if stream.capture is None:
            stream.capture = self
            if stream not in self._branches:
                self._branches[stream] = len(self._queued)
                self._queued.append(0)
                self._seen.append({})
        elif stream.capture is not self:
            stream.capture.failed = True
            self.fail("cudaErrorStreamCaptureMerge")
        branch = self._branches[stream]
        origin, after = self._points[id(point)]
        seen = self._seen[branch]
        for other, count in after.items():
            seen[other] = max(seen.get(other, 0), count)
        if origin != branch:
            self.steps.append(Wait(branch, point))

    def check(self) -> None:
        """Raise what CUDA says once a capture is spoilt."""
        __tracebackhide__ = True
        if self.failed:
            raise errors.invalidated()

    def forbids_unsafe_calls(self) -> bool:
        """Does it spoil the capture to ask an event of no capture whether it is over?"""
        here = threading.get_ident() == self.thread
        return self.mode == "global" or (self.mode == "thread_local" and here)

    def refuse(self) -> None:
        """Something that may not be done on a capturing stream: the capture is spoilt."""
        __tracebackhide__ = True
        self.fail("cudaErrorStreamCaptureUnsupported")

    def fail(self, name: str) -> None:
        __tracebackhide__ = True
        self.failed = True
        raise errors.error(name)

    def take(self, event: trace.Event) -> bool:
        """Recordings hear of captured launches when they are replayed."""
        if streams.current().capture is not self or isinstance(event, (trace.Compile, trace.Create)):
            return False
        launches = self._launches
        if launches is None and self._last is not None:
            launches = self._last.launches
        if launches is not None and not isinstance(event, trace.Sync):  # that one is refused
            launches.append(event)
        return True

    def is_empty(self) -> bool:
        return self._last is None

    def branches(self) -> list[streams.StreamState]:
        """The streams that took part, each at the place that its branch's number says."""
        return list(self._branches)

    # -------------------------------------------------------------- its end

    def end(self) -> None:
        """Nothing has run. Raises if the capture is spoilt or if a stream was not joined again."""
        joined = self._seen[0]
        unjoined = any(branch and count > joined.get(branch, 0) for branch, count in enumerate(self._queued))
        self._close()
        if self.failed:
            raise errors.invalidated()
        if unjoined:
            raise errors.error("cudaErrorStreamCaptureUnjoined")

    def _close(self) -> None:
        device = state.device()
        device.watchers -= 1
        device.captures.remove(self)
        trace.takers.remove(self.take)
        for stream in self._branches:
            if stream.capture is self:
                stream.capture = None
        self.draws.close()
        for storage, contents in self._before.values():
            ctypes.memmove(storage.data_ptr(), contents, len(contents))
        for storage, byte in self._made.values():
            ctypes.memset(storage.data_ptr(), byte, storage.nbytes())
        self.outside = Outside(self._used)
        self._used, self._before, self._made = {}, {}, {}
