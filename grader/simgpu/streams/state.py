"""The streams of the simulated GPU and each thread's current one.

`torch.cuda.Stream` objects, raw handles and numba's streams are views of one `StreamState` for each handle.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from grader.simgpu import clock, gputrace, order
from grader.simgpu.streams.guards import Guards

DEFAULT = 0  # the handle and the id of the default stream; 1 and 2 are CUDA's other names of default streams
_LEGACY, _PER_THREAD = 1, 2
LOWEST, HIGHEST = 0, -3  # priorities
POOL = 32  # streams a priority, handed out in turn
_POOL_HANDLES = 0x5500_0000_0000  # pool streams: this plus their place in the pool, in steps of _STEP
_BLOCKING_HANDLES = 0x5600_0000_0000
_STEP = 0x200


class StreamState:
    """One CUDA stream: an in-order queue of work.

    `id` is PyTorch's `stream_id`, `handle` what `.cuda_stream` says. `blocking` streams (the default stream
    and those that numba makes) wait for each other as CUDA's legacy default stream does; PyTorch's side
    streams do not. `agent` says what is ordered before what, `lane` when it runs. `capture` is the capture of
    a CUDA graph that the stream takes part in, if any.
    """

    __slots__ = ("agent", "blocking", "capture", "handle", "id", "lane", "name", "priority", "queued")

    def __init__(self, handle: int, stream_id: int, name: str, priority: int = 0, blocking: bool = False):
        self.id, self.handle, self.name = stream_id, handle, name
        self.priority, self.blocking = priority, blocking
        self.agent = order.new_agent(name)
        self.lane = clock.device().lane(name, priority)
        self.capture: Any = None
        self.queued = 0  # how much work it ever got

    def __repr__(self) -> str:
        return f"<{self.name}: handle {self.handle:#x}, priority {self.priority}>"


class Device:
    """All streams of the one simulated device, and why their work has to be followed at the moment."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by_handle: dict[int, StreamState] = {}
        self._by_id: dict[int, StreamState] = {}  # those that were asked for by PyTorch's ids
        self._pool_next = [0] * (LOWEST - HIGHEST + 1)
        self._blocking_made = 0
        self._external_made = 0
        self._thread = threading.local()
        self.blocking: tuple[StreamState, ...] = ()  # the blocking streams other than the default one
        self.held: dict[int, weakref.ref] = {}  # the Stream and Event objects that Python code holds
        self.busy: dict[StreamState, int] = {}  # streams with work that the host has not waited for: how much
        self.watchers = int(gputrace.heard())  # captures, recordings of times and others, all open
        self.captures: list[Any] = []  # those of CUDA graphs that are under way
        self.guards = Guards()
        self.sync_debug = 0  # torch.cuda.set_sync_debug_mode: 0 default, 1 warn, 2 error
        self.told_of_prototype = False
        self.default = self._new(DEFAULT, DEFAULT, "the default stream", blocking=True)

    def _new(self, handle: int, stream_id: int, name: str, priority: int = 0, blocking: bool = False):
        state = StreamState(handle, stream_id, name, priority, blocking)
        self._by_handle[handle] = state
        if handle != DEFAULT:
            gputrace.tell(gputrace.calls.StreamCreationCallbacks, handle)
        return state

    def from_pool(self, priority: int) -> StreamState:
        """The next of the pool's streams of this priority (clamped to the device's range)."""
        priority = min(max(priority, HIGHEST), LOWEST)
        with self._lock:
            index = self._pool_next[-priority]
            self._pool_next[-priority] = (index + 1) % POOL
            return self._of_pool(-priority * POOL + index)

    def _of_pool(self, place: int) -> StreamState:
        """The stream at this place of the pool: POOL of each priority, those of priority 0 first."""
        handle = _POOL_HANDLES + place * _STEP
        with self._lock:
            if handle in self._by_handle:
                return self._by_handle[handle]
            rank, index = divmod(place, POOL)
            stream_id = index << 5 | (rank + 1) << 1 | 1  # as c10::cuda packs them
            return self._new(handle, stream_id, f"stream {place + 1}", -rank)

    def new_blocking(self) -> StreamState:
        """A stream as `cudaStreamCreate` makes it: it and the default stream wait for each other."""
        with self._lock:
            self._blocking_made += 1
            handle = _BLOCKING_HANDLES + self._blocking_made * _STEP
            state = self._new(handle, handle, f"blocking stream {self._blocking_made}", blocking=True)
            self.blocking += (state,)
            return state

    def by_handle(self, handle: int) -> StreamState:
        if handle in (DEFAULT, _LEGACY):
            return self.default
        state = self._by_handle.get(handle)
        if state is not None:
            return state
        with self._lock:
            self._external_made += 1
            name = f"external stream {self._external_made}"
            state = self._new(handle, handle, name, blocking=handle == _PER_THREAD)
            if state.blocking:
                self.blocking += (state,)
            return state

    def by_id(self, stream_id: int) -> StreamState:
        """PyTorch's ids: odd ones are of the pool, others the handles of external streams."""
        known = self._by_id.get(stream_id)
        if known is None:
            known = self._by_id[stream_id] = self._of_id(stream_id)
        return known

    def _of_id(self, stream_id: int) -> StreamState:
        if stream_id & 1 and stream_id != _LEGACY:
            place = ((stream_id >> 1 & 0xF) - 1) * POOL + (stream_id >> 5)
            return self._of_pool(place)
        return self.by_handle(stream_id)

    def current(self) -> tuple[int, StreamState]:
        """This thread's current stream: its id in PyTorch and its state."""
        return getattr(self._thread, "current", None) or (DEFAULT, self.default)

    def set_current(self, stream_id: int) -> None:
        self._thread.current = (stream_id, self.by_id(stream_id))

    def entered(self) -> list[int]:
        """The ids that were current before each `with stream:` that this thread is in."""
        if not hasattr(self._thread, "entered"):
            self._thread.entered = []
        return self._thread.entered

    def all(self) -> list[StreamState]:
        return list(self._by_handle.values())

    def hold(self, view: Any) -> None:
        """`view`, a Stream or an Event object, is in Python's hands: work is followed while it lives."""
        key, held = id(view), self.held
        held[key] = weakref.ref(view, lambda _: held.pop(key, None))


class _Here:
    """The process's device: made when it is first asked for, forgotten by `reset`."""

    device: Device | None = None


_lock = threading.Lock()


def device() -> Device:
    found = _Here.device
    if found is None:
        with _lock:
            if _Here.device is None:
                _Here.device = Device()
            found = _Here.device
    return found


def reset() -> None:
    """Forget all streams and what they did. For `switch.deactivate()`."""
    with _lock:
        _Here.device = None


def current() -> StreamState:
    """This thread's current stream."""
    return device().current()[1]


def default() -> StreamState:
    """The default stream."""
    return device().default


def by_handle(handle: int) -> StreamState:
    """The stream whose `.cuda_stream` is `handle`; an unknown handle is an external stream's."""
    return device().by_handle(handle)


def all_streams() -> list[StreamState]:
    """Every stream that was ever asked for, the default one first."""
    return device().all()


def new_blocking() -> StreamState:
    """A stream as `cudaStreamCreate` makes it (numba's): it and the default stream wait for each other."""
    return device().new_blocking()
