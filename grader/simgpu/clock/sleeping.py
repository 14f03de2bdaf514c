"""`time.sleep` moves the host's virtual time on as well."""

from __future__ import annotations

import time
from collections.abc import Iterator

from grader.simgpu.clock.process import if_used

_sleep = time.sleep


def sleep(seconds, /) -> None:
    """time.sleep, which the simulated GPU's virtual clock sees where this thread has used the GPU."""
    _sleep(seconds)
    device = if_used()
    if device is not None:
        device.spend(float(seconds), "time.sleep")


def patches() -> Iterator[tuple[object, str, object]]:
    yield time, "sleep", sleep
