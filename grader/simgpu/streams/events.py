"""Events of the simulated device: `torch.Event`, and the base in C that `torch.cuda.Event` stands on."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from grader.simgpu import clock, devices, gputrace
from grader.simgpu.gputrace import calls
from grader.simgpu.streams import edges, state, waits
from grader.simgpu.streams.kinds import Generic, error, named, state_of

_Event = torch.Event
_IPC_HANDLE_BYTES = 64


class _Recording:
    """What events of the simulated device have in common."""

    _recorded: edges.Recorded | None = None
    _timed = False

    def _hold(self, timed: bool) -> Any:
        self._timed = bool(timed)
        state.device().hold(self)
        return self

    def query(self) -> bool:
        return self._recorded is None or waits.is_over(self._recorded)

    def synchronize(self) -> None:
        if self._recorded is not None:
            waits.host_waits_for(self._recorded, "Event.synchronize")

    def _record(self, stream: state.StreamState) -> None:
        if self._recorded is None and gputrace.heard():
            gputrace.tell(calls.EventCreationCallbacks, id(self))
            weakref.finalize(self, gputrace.tell, calls.EventDeletionCallbacks, id(self)).atexit = False
        self._recorded = edges.record(stream, event=id(self))

    def _wait(self, stream: state.StreamState) -> None:
        if self._recorded is not None:
            edges.wait(stream, self._recorded)

    @property
    def event_id(self) -> int:
        return 0 if self._recorded is None else id(self)


def _both_over(a: _Recording, b: _Recording) -> bool:
    return a.query() and b.query()


class Event(_Recording, _Event, metaclass=Generic):
    """`torch.Event`: an event of the simulated device, or PyTorch's own for another device."""

    _replaces = True

    def __new__(cls, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        if device is not None and not devices.is_cuda(device):
            return _Event(device, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)
        devices.check_index(device)
        return _Event.__new__(cls)._hold(enable_timing)

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0) if self._recorded is not None else torch.device("cuda")

    def record(self, stream: Any = None) -> None:
        self._record(state.current() if stream is None else state_of(stream))

    def wait(self, stream: Any = None) -> None:
        self._wait(state.current() if stream is None else state_of(stream))

    def elapsed_time(self, end_event: Any) -> float:
        if not isinstance(end_event, _Recording):
            raise RuntimeError("expected other to be a torch.Event object")
        if end_event._recorded is None:
            raise RuntimeError("other was not marked for recording.")
        if self._recorded is None:
            raise RuntimeError("self was not marked for recording.")
        if not (self._timed and end_event._timed):
            raise error("invalid resource handle")
        if not _both_over(self, end_event):
            raise error("device not ready")
        return clock.device().elapsed(self._recorded.mark, end_event._recorded.mark)

    def __repr__(self) -> str:
        index, flag = (-1 if self._recorded is None else 0), int(self._timed)
        return (
            f"torch.Event device_type=cuda, device_index={index}, event_flag={flag}, event_id={self.event_id}"
        )


class CudaEventBase(Event):
    """Stands for `torch._C._CudaEventBase`."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        event = _Event.__new__(cls)
        event._shared = bool(interprocess)
        return event._hold(enable_timing)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Any:
        if len(handle) != _IPC_HANDLE_BYTES:
            raise RuntimeError(
                f"cudaIpcEventHandle_t expects byte-like object of size {_IPC_HANDLE_BYTES}, "
                f"but got {len(handle)}"
            )
        device = torch.device(device)
        if device.type != "cuda":
            raise RuntimeError(
                f"Event can only be created on CUDA devices, but got device type {device.type}"
            )
        raise error("invalid argument")  # no other process shares the simulated device

    def ipc_handle(self) -> bytes:
        self._create()
        if not self._shared:
            raise error("invalid resource handle")
        return id(self).to_bytes(_IPC_HANDLE_BYTES, "little")

    def _create(self) -> None:
        if self._shared and self._timed:
            raise error("invalid argument")  # an event that is timed cannot be shared

    @property
    def device(self) -> torch.device | None:
        return torch.device("cuda", 0) if self._recorded is not None else None

    @property
    def cuda_event(self) -> int:
        return self.event_id

    def record(self, stream: Any) -> None:
        self._create()
        self._record(state_of(stream))

    def wait(self, stream: Any) -> None:
        self._wait(state_of(stream))

    def elapsed_time(self, end_event: Any) -> float:
        if not isinstance(end_event, CudaEventBase):
            raise RuntimeError("expected other to be a torch.cuda.Event object")
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not _both_over(self, end_event):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return clock.device().elapsed(self._recorded.mark, end_event._recorded.mark)


named(Event, "torch", "Event")
named(CudaEventBase, "torch._C", "_CudaEventBase")
