"""A GPU in software for what the course uses of `torch.cuda`.

from grader import simgpu
simgpu.activate()               # the real GPU if there is one, else the simulated one;
GRADER_GPU=sim|real decides with simgpu.recording() as t:   # what ran on the simulated GPU: t.launches,
t.compiles, t.creates ...
"""

from grader.simgpu.switch import activate, deactivate, describe, is_simulated, mode, patched_names, simulated
from grader.simgpu.tensors import SimTensor, to_device, to_host
from grader.simgpu.trace import Compile, Create, Launch, Trace, recording

__all__ = [
    "Compile",
    "Create",
    "Launch",
    "SimTensor",
    "Trace",
    "activate",
    "deactivate",
    "describe",
    "is_simulated",
    "mode",
    "patched_names",
    "recording",
    "simulated",
    "to_device",
    "to_host",
]
