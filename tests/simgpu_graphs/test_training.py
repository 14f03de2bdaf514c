"""Whole training steps, callables and random numbers in graphs."""

import copy

import pytest
import torch

from tests.simgpu_graphs.capturing import D, capture, current, full

pytestmark = pytest.mark.usefixtures("quiet")

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05, capturable=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step(name):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(D)
    eager = copy.deepcopy(module)
    inputs = [torch.rand(16, 4, device=D) for _ in range(5)]
    x, y = torch.zeros(16, 4, device=D), torch.zeros(16, 1, device=D)
    optimizer, other = OPTIMIZERS[name](module.parameters()), OPTIMIZERS[name](eager.parameters())

    def step(net, optimizer, x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    start = copy.deepcopy(module.state_dict())
    side = torch.cuda.Stream()
    side.wait_stream(current())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(module, optimizer, x, y)
    current().wait_stream(side)
    module.load_state_dict(start)
    for state in optimizer.state.values():
        for value in state.values():
            value.zero_()
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step(module, optimizer, x, y)
    for batch in inputs:
        x.copy_(batch)
        y.copy_(batch.sum(1, keepdim=True))
        graph.replay()
        expected = step(eager, other, batch, batch.sum(1, keepdim=True))
        torch.testing.assert_close(loss, expected)
    for ours, theirs in zip(module.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(ours.grad, theirs.grad)


def test_make_graphed_callables():
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to(D)
    eager = copy.deepcopy(module)
    graphed = torch.cuda.make_graphed_callables(module, (torch.rand(3, 4, device=D),))
    for _ in range(3):
        x = torch.rand(3, 4, device=D)
        ours, theirs = graphed(x), eager(x)
        torch.testing.assert_close(ours, theirs)
        for net, out in ((graphed, ours), (eager, theirs)):
            net.zero_grad()
            out.square().sum().backward()
        for p, q in zip(graphed.parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad)
    sample = (full(1).requires_grad_(), full(2))
    product = torch.cuda.make_graphed_callables(lambda a, b: a * b, sample)
    a = full(1).requires_grad_()
    product(a, full(4)).sum().backward()
    assert a.grad.tolist() == [4] * 4


def test_random_numbers_move_on_from_where_the_generator_stands():
    x = full(1, 100)

    def f():
        made = torch.empty(3, device=D).normal_()
        return torch.rand(4, device=D), torch.nn.functional.dropout(x, 0.5), made

    state = torch.cuda.get_rng_state()
    graph, drawn = capture(f, warm=False)
    assert torch.equal(torch.cuda.get_rng_state(), state)  # nothing was drawn
    torch.cuda.manual_seed(7)
    graph.replay()
    first = [t.clone() for t in drawn]
    graph.replay()
    assert not any(torch.equal(a, b) for a, b in zip(first, drawn, strict=True))
    torch.cuda.manual_seed(7)
    assert all(torch.equal(a, b) for a, b in zip(first, f(), strict=True))
    torch.cuda.manual_seed(7)
    graph.replay()
    assert all(torch.equal(a, b) for a, b in zip(first, drawn, strict=True))


def test_a_generator_of_ones_own_has_to_be_registered():
    mine = torch.Generator(D)
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="register"), torch.cuda.graph(graph):
        torch.rand(4, device=D, generator=mine)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(mine)
    with torch.cuda.graph(graph):
        drawn = torch.rand(4, device=D, generator=mine)
    mine.manual_seed(3)
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(first, drawn)
    mine.manual_seed(3)
    graph.replay()
    assert torch.equal(first, drawn)
