import pytest
import torch

from grader import simgpu
from grader.simgpu import clock, graphs, order, streams


@pytest.fixture(autouse=True)
def _on_the_simulated_gpu():
    """Each test has a new device: the streams of its pool are handed out from the first one on."""
    with simgpu.simulated():
        torch.cuda.synchronize()
        for room in (graphs, streams, order, clock):
            room.reset()
        yield
        torch.cuda.set_stream(torch.cuda.default_stream())


@pytest.fixture
def quiet():
    """No hazard may be found in the test."""
    with order.collect() as found:
        yield
        torch.cuda.synchronize()
    assert not found, found[0].text
