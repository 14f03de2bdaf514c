"""`torch.cuda.set_sync_debug_mode`: warn of calls that make the host wait, or refuse them."""

from __future__ import annotations

import warnings

from grader.simgpu.order.lines import frame_here
from grader.simgpu.streams import state

_DEFAULT, _WARN, _ERROR = 0, 1, 2
_WORDS = "called a synchronizing CUDA operation"
_PROTOTYPE = (
    "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"
)


def mode() -> int:
    """0, 1 or 2, as PyTorch numbers them: default, warn, error."""
    return state.device().sync_debug


def set_mode(value: int) -> None:
    device = state.device()
    if value not in (_DEFAULT, _WARN, _ERROR):
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    if value and not device.told_of_prototype:
        device.told_of_prototype = True
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=3)
    device.sync_debug = value


def check() -> None:
    """The host is about to wait for the device: warn of it, or refuse it, if that was asked for."""
    __tracebackhide__ = True
    asked = state.device().sync_debug
    if asked == _WARN:
        frame = frame_here()
        if frame is None:
            warnings.warn(_WORDS, UserWarning, stacklevel=2)
        else:
            seen = frame.f_globals.setdefault("__warningregistry__", {})
            warnings.warn_explicit(
                _WORDS, UserWarning, frame.f_code.co_filename, frame.f_lineno, registry=seen
            )
    elif asked == _ERROR:
        raise RuntimeError(_WORDS)
