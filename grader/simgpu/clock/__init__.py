"""Virtual time: when a real GPU would have done what was queued. It never decides values or hazards.

`device()` is the process's one modelled device. A stream is a `Lane` of it; work is queued with a `Cost`,
which `costs` makes; events are `Mark`s. Time is simulated lazily, by events, and never past the host's own
time, so that what is queued later cannot change what the host has already seen.
"""

from grader.simgpu.clock import costs
from grader.simgpu.clock.arithmetic import multiply_adds
from grader.simgpu.clock.arithmetic_python import multiply_adds_of
from grader.simgpu.clock.device import Device, HostSpan, Recording
from grader.simgpu.clock.entries import Cost, Item, Lane, Mark
from grader.simgpu.clock.process import device, reset
from grader.simgpu.clock.profiles import Profile

__all__ = [
    "Cost", "Device", "HostSpan", "Item", "Lane", "Mark", "Profile", "Recording", "costs", "device",
    "multiply_adds", "multiply_adds_of", "reset",
]  # fmt: skip
