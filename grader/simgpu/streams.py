"""Streams and events at first: all work is done when it is queued; events read the host's clock."""

from __future__ import annotations

import itertools
import threading
import time

import torch

_POOL = 32  # streams a priority, handed out in turn
_LOWEST, _HIGHEST = 0, -3
_CUDA = 1  # c10::DeviceType::CUDA
_next_number = itertools.count()
_state = threading.local()


class Stream:
    """`torch.cuda.Stream`: an in-order queue that is always empty: its work is done when it is queued."""

    def __init__(self, device=None, priority=0, *, stream_id=None, device_index=0, device_type=_CUDA, **_):
        if stream_id is None:
            priority = min(max(priority, _HIGHEST), _LOWEST)
            stream_id = 1 + 4 * (next(_next_number) % _POOL) - priority
        self.stream_id, self.device_index, self.device_type = stream_id, device_index, device_type
        self.priority = -((stream_id - 1) % 4) if stream_id else 0

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        return self.stream_id

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return _LOWEST, _HIGHEST

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        """Everything that was queued is done."""

    def wait_event(self, event) -> None:
        event.wait(self)

    def wait_stream(self, stream) -> None:
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        _entered().append(current())
        set_current(self.stream_id)
        return self

    def __exit__(self, *_):
        set_current(_entered().pop())

    def __eq__(self, other):
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self):
        return hash(self.stream_id)

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """`torch.cuda.Event`, timed by the host's clock."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self.enable_timing, self._at = enable_timing, None

    def record(self, stream=None) -> None:
        self._at = time.perf_counter()

    def wait(self, stream=None) -> None:
        """What was recorded is done."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """What was recorded is done."""

    def elapsed_time(self, end_event) -> float:
        if not isinstance(end_event, Event):
            raise RuntimeError("expected other to be a torch.cuda.Event object")
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1e3

    @property
    def device(self):
        return torch.device("cuda", 0) if self._at is not None else None

    def __repr__(self):
        return "<torch.cuda.Event uninitialized>" if self._at is None else "<torch.cuda.Event 0x1>"


for _cls in (Stream, Event):
    _cls.__module__ = "torch.cuda.streams"


def _entered() -> list[int]:
    if not hasattr(_state, "entered"):
        _state.entered = []
    return _state.entered


def current() -> int:
    """The id of this thread's current stream; 0 is the default stream."""
    return getattr(_state, "stream_id", 0)


def set_current(stream_id: int, device_index: int = 0, device_type: int = _CUDA) -> None:
    _state.stream_id = stream_id


def patches():
    for module in (torch.cuda, torch.cuda.streams):
        yield module, "Stream", Stream
        yield module, "Event", Event
    yield torch._C, "_cuda_getCurrentStream", lambda device=0: (current(), 0, _CUDA)
    yield torch._C, "_cuda_getCurrentRawStream", lambda device=0: current()
    yield torch._C, "_cuda_getDefaultStream", lambda device=0: (0, 0, _CUDA)
    yield torch._C, "_cuda_setStream", set_current
    yield torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", lambda: False
    yield torch._C, "_cuda_sleep", lambda cycles: None
