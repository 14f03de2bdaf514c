"""A device whose times are easy to compute by hand: no overheads, and host calls that take no time."""

import dataclasses

import pytest

from grader.simgpu.clock import Device
from grader.simgpu.clock.profiles import H200, HostCosts

_FREE_CALLS = HostCosts(**{f.name: 0.0 for f in dataclasses.fields(HostCosts)})
PLAIN = dataclasses.replace(
    H200, copy_latency=0.0, latency=0.0, start=0.0, start_cold=0.0, mark=0.0, wait=0.0, host=_FREE_CALLS
)


@pytest.fixture
def device():
    return Device(PLAIN)
