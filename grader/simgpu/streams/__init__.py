"""Streams and events of the simulated GPU: `torch.cuda.Stream` and its kin, and `StreamState` behind them."""

from __future__ import annotations

import torch

from grader.simgpu import clock
from grader.simgpu.streams import debug, events, kinds, pytorchs, state, views, waits
from grader.simgpu.streams.edges import follow_legacy_rule
from grader.simgpu.streams.state import (
    StreamState,
    all_streams,
    by_handle,
    current,
    default,
    new_blocking,
    reset,
)

__all__ = [
    "StreamState", "all_streams", "by_handle", "current", "default", "follow_legacy_rule", "new_blocking",
    "reset",
]  # fmt: skip


def _set_stream(stream_id: int, device_index: int = 0, device_type: int = 1) -> None:
    clocked = clock.device()
    clocked.spend(clocked.profile.host.set_stream, "set_stream")
    state.device().set_current(stream_id)


def patches():
    def here() -> tuple[int, int, int]:
        return state.device().current()[0], 0, kinds.CUDA

    yield from pytorchs.patches()
    for module in (torch, torch._C):
        yield module, "Stream", views.Stream
        yield module, "Event", events.Event
    for name, replacement in {
        "_cuda_getCurrentStream": lambda device=0: here(),
        "_cuda_getCurrentRawStream": lambda device=0: current().handle,
        "_cuda_getDefaultStream": lambda device=0: (state.DEFAULT, 0, kinds.CUDA),
        "_cuda_getStreamFromExternal": lambda pointer, device=0: (pointer, 0, kinds.CUDA),
        "_cuda_setStream": _set_stream,
        "_cuda_isCurrentStreamCapturing": lambda: current().capture is not None,
        "_cuda_synchronize": lambda: waits.host_sync(None, "torch.cuda.synchronize", checked=False),
        "_cuda_get_sync_debug_mode": debug.mode,
        "_cuda_set_sync_debug_mode": debug.set_mode,
        "_accelerator_synchronizeDevice": lambda index=0: waits.host_sync(
            None, "torch.accelerator.synchronize", checked=False
        ),
        "_accelerator_getStream": lambda index=0: views.generic(state.device().current()[0]),
        "_accelerator_setStream": lambda stream: state.device().set_current(stream.stream_id),
    }.items():
        yield torch._C, name, replacement
