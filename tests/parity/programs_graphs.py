"""CUDA graphs: capture once, replay many times."""

from __future__ import annotations

from functools import partial

import torch
from numba import cuda

from . import harness
from .harness import D, F, J
from .racing import (
    N,
    captured,
    compiled,
    current,
    full,
    launch,
    numba_stream,
    on,
    pinned,
    sync,
    values,
)

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


@case("graphs/replays_add_up", expect=[[1.0], [4.0]])
def replays_add_up():
    x = full(0.0)
    graph, _ = captured(lambda: x.add_(1))
    seen = [values(x)]
    for _ in range(3):
        graph.replay()
    return [*seen, values(x)]


@case("graphs/inputs_and_results_keep_their_places", expect=[[2.0, 4.0, 6.0], [20.0, 22.0, 24.0], True])
def inputs_and_results_keep_their_places():
    x = F(3, 1.0)
    graph, y = captured(lambda: (x * 2).relu())
    seen, address = [], y.data_ptr()
    for start in (1.0, 10.0):
        x.copy_(F(3, start))
        graph.replay()
        seen.append(y.tolist())
    return [*seen, y.data_ptr() == address]


@case("graphs/python_runs_only_at_the_capture", expect=[2, [4.0]])
def python_runs_only_at_the_capture():
    x, calls = full(0.0), []

    def step():
        calls.append(None)
        x.add_(len(calls) - 1)

    graph, _ = captured(step)
    x.zero_()
    for _ in range(4):
        graph.replay()
    return [len(calls), values(x)]


@case("graphs/python_numbers_are_baked_in", expect=[[6.0], [6.0], [30.0]])
def python_numbers_are_baked_in():
    x, factor, on_device = full(2.0), [3.0], torch.full((), 3.0, device=D)
    baked, y = captured(lambda: x * factor[0])
    read, z = captured(lambda: x * on_device)
    baked.replay()
    seen = [values(y)]
    factor[0] = 15.0
    on_device.fill_(15)
    for graph in (baked, read):
        graph.replay()
    return [*seen, values(y), values(z)]


@case("graphs/branches_of_python_are_baked_in", expect=[[3.0], [3.0]])
def branches_of_python_are_baked_in():
    x, up = full(2.0), [True]
    graph, y = captured(lambda: x + 1 if up[0] else x - 1)
    graph.replay()
    first = values(y)
    up[0] = False
    graph.replay()
    return [first, values(y)]


@case("graphs/a_whole_training_step", expect=[True, True])
def a_whole_training_step():
    def train(device, replay):
        w = torch.zeros(2, 1, device=device, requires_grad=True)
        x, y = torch.eye(2, device=device), torch.ones(2, 1, device=device)
        optimizer = torch.optim.SGD([w], lr=0.25)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = ((x @ w - y) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        if not replay:
            return [step().item() for _ in range(6)], w.detach()
        graph, loss = captured(step)
        losses = []
        for _ in range(5):
            graph.replay()
            losses.append(loss.item())
        return losses, w.detach()

    eager, w_eager = train("cpu", False)
    replayed, w_replayed = train(D, True)
    return [replayed == eager[1:], torch.equal(w_replayed.cpu(), w_eager)]


@case("graphs/a_fork_and_a_join_inside", expect=[[25.0], [55.0]])
def a_fork_and_a_join_inside():
    x, s = full(2.0), torch.cuda.Stream()

    def both():
        a = x * x
        s.wait_stream(current())
        with on(s):
            b = a * 5
        c = a + 1
        current().wait_stream(s)
        return b + c

    graph, y = captured(both)
    graph.replay()
    first = values(y)
    x.fill_(3)
    graph.replay()
    return [first, values(y)]


@case("graphs/kernels_of_ones_own", expect=[[12.0], [103.0]])
def kernels_of_ones_own():
    square = J("template <typename T> T square(T x) { return x * x; }")
    add = compiled("""
    extern "C" __global__ void k(float* x, int n, int step) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] += step;
    }""")
    x, y = full(3.0), full(0.0)

    def both():
        y.copy_(square(x))
        launch(add, N // 256, 256, y, N, 1)
        launch(add, N // 256, 256, y, N, 2)

    graph, _ = captured(both)
    seen = []
    for v in (3, 10):
        x.fill_(v)
        graph.replay()
        seen.append(values(y))
    return seen


@case("graphs/pinned_memory_is_read_at_each_replay", expect=[[[3.0], [4.0]], [[9.0], [10.0]]])
def pinned_memory_is_read_at_each_replay():
    source, target, x = pinned(0.0), pinned(-1.0), full(0.0)

    def step():
        x.copy_(source, non_blocking=True)
        x.add_(1)
        target.copy_(x, non_blocking=True)

    graph, _ = captured(step)
    seen = []
    for v in (3, 9):
        source.fill_(v)
        graph.replay()
        sync()
        seen.append([values(source), values(target)])
    return seen


@case("graphs/two_graphs_in_turn", expect=[[2.0], [4.0], [6.0], [12.0], [14.0], [28.0]])
def two_graphs_in_turn():
    x = full(0.0)
    add, _ = captured(lambda: x.add_(2))
    double, _ = captured(lambda: x.mul_(2))
    x.zero_()
    seen = []
    for _ in range(3):
        for graph in (add, double):
            graph.replay()
            seen.append(values(x))
    return seen


@case("graphs/many_small_operations", expect=True)
def many_small_operations():
    x = F(1024)

    def chain():
        y = x
        for i in range(50):
            y = y * 0.5 + i
        return y

    graph, y = captured(chain)
    x.copy_(F(1024, 7.0))
    graph.replay()
    return torch.equal(y, chain())


@case("graphs/several_results", expect=[["a", "b"], [6.0, 7.0], [25.0, 36.0], [11.0]])
def several_results():
    x = F(2)
    graph, out = captured(lambda: {"a": x + 1, "b": (x * x, x.sum())})
    x.copy_(F(2, 5.0))
    graph.replay()
    return [sorted(out), out["a"].tolist(), out["b"][0].tolist(), [out["b"][1].item()]]


@case("graphs/a_numba_kernel_with_its_scalar", expect=[[5.0], [10.0]])
def a_numba_kernel_with_its_scalar():
    @cuda.jit
    def add(x, step):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += step

    x, step = full(0.0), [5.0]
    a = cuda.as_cuda_array(x)
    graph, _ = captured(lambda: add[N // 256, 256, numba_stream()](a, step[0]))
    x.zero_()
    step[0] = 100.0
    seen = []
    for _ in range(2):
        graph.replay()
        seen.append(values(x))
    return seen
