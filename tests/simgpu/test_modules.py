"""Helpers around modules that reach for the device in ways of their own."""

import pytest
import torch
from torch import nn

D = "cuda"


def on_device(module: nn.Module) -> bool:
    return all(t.is_cuda for t in (*module.parameters(), *module.buffers()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LazyLinear(3).cuda(),
        lambda: nn.LazyLinear(3).to(D),
        lambda: nn.LazyLinear(3, device=D),
        lambda: nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).to(D),
    ],
)
def test_lazy_modules_get_their_memory_where_they_are(make):
    lazy = make()
    assert lazy(torch.ones(2, 4, device=D)).is_cuda and on_device(lazy)
    linear = lazy[0] if isinstance(lazy, nn.Sequential) else lazy
    assert type(linear) is nn.Linear and linear.weight.shape == (3, 4)


def test_lazy_modules_of_the_host_stay_there():
    lazy = nn.LazyLinear(3)
    assert not lazy(torch.ones(2, 4)).is_cuda and type(lazy.weight) is nn.Parameter


def test_data_parallel_over_the_one_device():
    net = nn.Linear(4, 2).cuda()
    x = torch.ones(3, 4, device=D)
    assert torch.equal(nn.DataParallel(net)(x), net(x))


def test_exported_programs():
    # The process has to survive it: fake CUDA tensors that require gradients would end it.
    net = nn.Linear(4, 2).cuda()
    x = torch.ones(3, 4, device=D)
    program = torch.export.export(net, (x,))
    assert [n.target.name() for n in program.graph.nodes if n.op == "call_function"] == ["aten::linear"]
    assert on_device(net) and isinstance(net.weight, nn.Parameter) and x.is_cuda


@pytest.mark.parametrize("which", [["CPU", "CUDA"], ["CUDA"]])
def test_the_profiler_records_the_hosts_side(which, capfd):
    activities = [getattr(torch.profiler.ProfilerActivity, w) for w in which]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        torch.ones(3, device=D) * 2
    assert "aten::mul" in profile.key_averages().table(sort_by="cuda_time_total", row_limit=20)
    assert "Failed to record CUDA event" not in capfd.readouterr().err
