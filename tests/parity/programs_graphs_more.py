"""CUDA graphs: what may not be captured, captures by hand, replays on other streams."""

from __future__ import annotations

from functools import partial

import torch

from . import harness
from .harness import E, F
from .racing import (
    captured,
    current,
    full,
    nap,
    on,
    settled,
    sync,
    values,
)

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


@case("graphs/begun_and_ended_by_hand", expect=[False, True, False, [5.0]])
def begun_and_ended_by_hand():
    x, s, graph = full(4.0), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    capturing = [torch.cuda.is_current_stream_capturing()]
    s.wait_stream(current())
    with on(s):
        graph.capture_begin()
        y = x + 1
        capturing.append(torch.cuda.is_current_stream_capturing())
        graph.capture_end()
    current().wait_stream(s)
    capturing.append(torch.cuda.is_current_stream_capturing())
    graph.replay()
    return [*capturing, values(y)]


@case(
    "graphs/graphed_callables",
    expect=[[1.0, 4.0, 9.0], [2.0, 4.0, 6.0], [16.0, 25.0, 36.0], [8.0, 10.0, 12.0]],
)
def graphed_callables():
    square = torch.cuda.make_graphed_callables(lambda x: x * x, (F(3).requires_grad_(),))
    seen = []
    for start in (1.0, 4.0):
        x = F(3, start).requires_grad_()
        y = square(x)
        y.sum().backward()
        seen += [y.tolist(), x.grad.tolist()]
    return seen


@pair("graphs/input_changed_before_a_replay_has_run", racy=[40.0], mended=[10.0])
def input_changed_before_a_replay_has_run(mended):
    x, y, s = full(1.0), full(0.0), torch.cuda.Stream()
    graph, _ = captured(lambda: torch.mul(x, 10, out=y))

    def run():
        x.fill_(1)
        sync()
        with on(s):
            nap()
            graph.replay()
        if mended:
            current().wait_stream(s)
        x.fill_(4)
        sync()
        return values(y)

    return settled(run)


@case("graphs/replay_without_a_capture", expect=[{"exc": "RuntimeError"}, {"exc": "RuntimeError"}])
def replay_without_a_capture():
    empty = torch.cuda.CUDAGraph()
    x = full(0.0)
    graph, _ = captured(lambda: x.add_(1))
    graph.reset()
    return [E(empty.replay), E(graph.replay)]


@case(
    "graphs/capture_on_the_default_stream",
    expect={
        "exc": "RuntimeError",
        "msg": "CUDA graphs must be captured on a non-default stream. (However",
    },
)
def capture_on_the_default_stream():
    return E(torch.cuda.CUDAGraph().capture_begin)


def refused_capture(forbidden):
    """What a capture of `forbidden` raises inside, at its end, and at a replay."""
    x = F(4)
    forbidden(x)
    graph, inside = torch.cuda.CUDAGraph(), []

    def capture():
        with torch.cuda.graph(graph):
            x.add_(1)
            inside.append(E(forbidden, x))
            if "exc" in inside[0]:
                raise RuntimeError("stop")

    end = E(capture)
    return [inside[0].get("exc"), str(inside[0].get("msg"))[:60], end.get("exc"), E(graph.replay).get("exc")]


_NOT_PERMITTED = [
    "AcceleratorError",
    "CUDA error: operation not permitted when stream is capturing",
    "AcceleratorError",
    "RuntimeError",
]


@case("graphs/item_may_not_be_captured", expect=_NOT_PERMITTED, alone=True)
def item_may_not_be_captured():
    return refused_capture(lambda x: x[1].item())


@case("graphs/a_synchronisation_may_not_be_captured", expect=_NOT_PERMITTED, alone=True)
def a_synchronisation_may_not_be_captured():
    return refused_capture(lambda x: sync())


@case("graphs/a_pageable_download_may_not_be_captured", expect=_NOT_PERMITTED, alone=True)
def a_pageable_download_may_not_be_captured():
    return refused_capture(lambda x: x.cpu())


@case("graphs/nonzero_may_not_be_captured", expect=_NOT_PERMITTED, alone=True)
def nonzero_may_not_be_captured():
    return refused_capture(lambda x: x.nonzero())
