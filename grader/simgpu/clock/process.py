"""The process's one modelled device."""

from __future__ import annotations

import threading

from grader.simgpu.clock.device import Device
from grader.simgpu.clock.profiles import chosen


class _Process:
    """What must be process-wide: the device, made when first asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.device: Device | None = None


_process = _Process()


def device() -> Device:
    """Return the process's device, at virtual time 0 when it is new."""
    found = _process.device
    if found is None:
        with _process.lock:
            found = _process.device = _process.device or Device(chosen())
    return found


def if_used() -> Device | None:
    """Return the process's device if this thread has queued something on it.

    Threads that have not, a notebook's own among them, live outside of virtual time.
    """
    found = _process.device
    return found if found is not None and threading.get_ident() in found.threads else None


def reset() -> None:
    """Forget the device: the next one starts at time 0. All that was queued on the old one is over."""
    with _process.lock:
        old, _process.device = _process.device, None
    if old is not None:
        old.host_waits(None)  # or else whoever still holds an event of its would wait for ever
