import pytest
import torch

from grader import simgpu
from grader.simgpu import clock, graphs, order, streams


@pytest.fixture(autouse=True)
def _on_the_simulated_gpu():
    """Each test has a new device, which knows nothing of the streams of others."""
    with simgpu.simulated():
        torch.cuda.synchronize()
        for room in (graphs, streams, order, clock):
            room.reset()
        yield
        torch.cuda.synchronize()
        order.clear_findings()
