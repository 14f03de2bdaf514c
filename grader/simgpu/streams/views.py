"""Streams of the simulated device: `torch.Stream`, and the base in C that `torch.cuda.Stream` stands on.

`torch.Stream` is replaced by a subclass that makes simulated streams where CUDA is meant.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from grader.simgpu import devices, lost
from grader.simgpu.streams import edges, state, waits
from grader.simgpu.streams.events import Event
from grader.simgpu.streams.kinds import CUDA, Generic, named, state_of

_Stream = torch.Stream


class Stream(_Stream, metaclass=Generic):
    """`torch.Stream`: a stream of the simulated device, or PyTorch's own for another device."""

    _replaces = True

    def __new__(cls, *args: Any, priority: int = 0, **kwargs: Any):
        if len(args) == 3 or "stream_id" in kwargs:
            given = {**dict(zip(("stream_id", "device_index", "device_type"), args, strict=False)), **kwargs}
            if given.get("device_type") != CUDA:
                return _Stream(*args, **kwargs)
            return _view(cls, given["stream_id"])
        device = args[0] if args else kwargs.get("device")
        if device is not None and not devices.is_cuda(device):
            return _Stream(*args, priority=priority, **kwargs)
        devices.check_index(device)
        lost.check()
        return _view(cls, state.device().from_pool(operator.index(priority)).id)

    @property
    def _state(self) -> state.StreamState:
        return state.device().by_id(self.stream_id)

    def query(self) -> bool:
        return waits.is_idle(self._state)

    def synchronize(self) -> None:
        __tracebackhide__ = True
        waits.host_sync(self._state, "Stream.synchronize")

    def is_capturing(self) -> bool:
        return self._state.capture is not None

    @property
    def native_handle(self) -> int:
        return self._state.handle

    def wait_event(self, event: Any) -> None:
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        edges.wait(self._state, edges.record(state_of(stream)))

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        streams = state.device()
        streams.entered().append(streams.current()[0])
        streams.set_current(self.stream_id)
        return self

    def __exit__(self, *_: Any) -> None:
        streams = state.device()
        streams.set_current(streams.entered().pop())

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Stream) and _identity(other) == _identity(self)

    def __hash__(self) -> int:
        return hash(_identity(self))


def _identity(stream: _Stream) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, stream.device_type


def _view(cls: type, stream_id: int) -> Any:
    stream = _Stream.__new__(cls, stream_id=stream_id, device_index=0, device_type=CUDA)
    if stream_id != state.DEFAULT:  # alone it keeps everything in order; torch.compile holds on to such ones
        state.device().hold(stream)
    return stream


def generic(stream_id: int) -> Stream:
    """A `torch.Stream` of the stream with PyTorch's id `stream_id`."""
    return _view(Stream, stream_id)


class CudaStreamBase(Stream):
    """Stands for `torch._C._CudaStreamBase`."""

    def __new__(cls, priority=0, stream_id=0, device_index=0, device_type=0, stream_ptr=0):
        if stream_id or device_index or device_type:
            devices.check_index(device_index)
        elif stream_ptr:
            stream_id = operator.index(stream_ptr)
        else:
            lost.check()
            stream_id = state.device().from_pool(operator.index(priority)).id
        return _view(cls, stream_id)

    @property
    def cuda_stream(self) -> int:
        return self._state.handle

    @property
    def priority(self) -> int:
        return self._state.priority

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return state.LOWEST, state.HIGHEST


named(Stream, "torch", "Stream")
named(CudaStreamBase, "torch._C", "_CudaStreamBase")
