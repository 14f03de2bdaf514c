import pytest
import torch

from grader import simgpu
from grader.simgpu import clock, order, streams


@pytest.fixture(autouse=True)
def findings():
    """Every test starts with a new device and sees what is found wrong with its own order."""
    with simgpu.simulated():
        for room in (streams, order, clock):
            room.reset()
        with order.collect() as found:
            yield found
        torch.cuda.set_stream(torch.cuda.default_stream())
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()


@pytest.fixture
def side():
    """A side stream that has waited for the default stream."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    return stream
