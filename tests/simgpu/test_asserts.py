"""Indices out of range on the device: the call returns, and then the device is lost, as on a GPU."""

import pytest
import torch

from grader.simgpu import lost

D = "cuda"


@pytest.fixture(autouse=True)
def _healed():
    yield
    lost.heal()


def index(*values):
    return torch.tensor(values, device=D)


OUT_OF_RANGE = {
    "embedding": (lambda x: torch.nn.functional.embedding(index(0, 3), x.view(3, 2)), (2, 2)),
    "index": (lambda x: x[index(1, 7)], (2,)),
    "negative index": (lambda x: x[index(-9)], (1,)),
    "a list": (lambda x: x[[7]], (1,)),
    "gather": (lambda x: x.gather(0, index(9)), (1,)),
    "take": (lambda x: x.take(index(9)), (1,)),
    "index_select": (lambda x: x.index_select(0, index(9, 9)), (2,)),
    "scatter_": (lambda x: x.scatter_(0, index(9), 1.0), (6,)),
    "cross_entropy": (lambda x: torch.nn.functional.cross_entropy(x.view(2, 3), index(0, 5)), ()),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
@pytest.mark.parametrize("followed", [False, True])
def test_the_device_is_lost_after_the_call(name, followed):
    call, shape = OUT_OF_RANGE[name]
    stream = torch.cuda.Stream() if followed else None  # while one lives, work is followed
    assert call(torch.rand(6, device=D)).shape == shape
    for use in (torch.cuda.synchronize, lambda: torch.zeros(1, device=D), lambda: torch.ones(1).to(D)):
        with pytest.raises(torch.AcceleratorError, match="^CUDA error: device-side assert triggered\n"):
            use()
    del stream


def test_what_the_host_checks_is_the_hosts_error():
    x = torch.arange(5, device=D)
    for call in (lambda: x[7], lambda: x[:, 1], lambda: x.select(0, 9), lambda: torch.ones(5)[[7]]):
        with pytest.raises(IndexError):
            call()
    torch.cuda.synchronize()
    assert x[index(4)].tolist() == [4]


def test_a_captured_index_is_looked_at_when_it_is_replayed():
    x, at = torch.arange(5.0, device=D), index(0)
    graph = torch.cuda.CUDAGraph()
    at.fill_(9)
    with torch.cuda.graph(graph):
        y = x[at]
    at.fill_(3)
    graph.replay()
    assert y.tolist() == [3]
    at.fill_(9)
    graph.replay()
    with pytest.raises(torch.AcceleratorError, match="device-side assert"):
        torch.cuda.synchronize()
