"""Streams at work: backward, kernels, chains of waits, the mode that forbids waiting."""

from __future__ import annotations

from functools import partial

import torch

from . import harness
from .harness import D, E, F, J, V
from .racing import current, default, full, nap, on, pinned, settled, sync, values

case = partial(harness.case, recorded=False)

_SYNCS = {"exc": "RuntimeError", "msg": "called a synchronizing CUDA operation"}


@case("streams/waiting_does_not_hold_up_the_host", expect=[False, False, [1.0]])
def waiting_does_not_hold_up_the_host():
    s, a, o = torch.cuda.Stream(), full(0.0), full(0.0)

    def run():
        a.zero_()
        sync()
        with on(s):
            nap()
            a.fill_(1)
        current().wait_stream(s)
        o.copy_(a)
        return [s.query(), current().query(), values(o)]

    return settled(run)


@case("streams/backward_runs_on_the_stream_of_its_forward", expect=[True, True])
def backward_runs_on_the_stream_of_its_forward():
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(current() == s)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(current() == s)
            return g * 2

    s, x = torch.cuda.Stream(), F(3).requires_grad_()
    s.wait_stream(current())
    with on(s):
        y = Double.apply(x).sum()
    current().wait_stream(s)
    y.backward()
    return seen


@case("streams/backward_is_joined_with_the_stream_of_its_caller", expect=[6.0, 6.0, 6.0])
def backward_is_joined_with_the_stream_of_its_caller():
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            nap()
            return g * 3

    s = torch.cuda.Stream()

    def run():
        x = F(3).requires_grad_()
        s.wait_stream(current())
        with on(s):
            y = 2 * Slow.apply(x)
        current().wait_stream(s)
        y.sum().backward()
        return x.grad.tolist()

    return settled(run)


@case("streams/a_jitted_kernel_runs_on_the_current_one", expect=[False, True, [4.0]])
def a_jitted_kernel_runs_on_the_current_one():
    square, a, s = J("template <typename T> T square(T x) { return x * x; }"), full(2.0), torch.cuda.Stream()

    def run():
        s.wait_stream(current())
        with on(s):
            nap()
            b = square(a)
        seen = [s.query(), default().query()]
        s.synchronize()
        return [*seen, values(b)]

    return settled(run)


@case("streams/debug_mode_forbids_waiting", expect=[0, 2, _SYNCS, _SYNCS, _SYNCS, _SYNCS, _SYNCS, 0, 1.0])
def debug_mode_forbids_waiting():
    x, modes = F(3, 1.0), [torch.cuda.get_sync_debug_mode()]
    torch.cuda.set_sync_debug_mode("error")
    try:
        modes.append(torch.cuda.get_sync_debug_mode())
        waits = [E(x[0].item), E(x.cpu), E(x.nonzero), E(lambda: bool(x[0] > 0)), E(x.tolist)]
    finally:
        torch.cuda.set_sync_debug_mode(0)
    return [*modes, *waits, torch.cuda.get_sync_debug_mode(), x[0].item()]


@case("streams/debug_mode_lets_these_pass", expect=[{"ok": None}, {"ok": None}, {"ok": None}, {"ok": 0}])
def debug_mode_lets_these_pass():
    s, x, h = torch.cuda.Stream(), F(3, 1.0), pinned(1.0, 3)
    torch.cuda.set_sync_debug_mode("error")
    try:
        return [
            E(sync),
            E(current().record_event().synchronize),
            E(s.wait_stream, current()),
            E(lambda: x.copy_(h, non_blocking=True).device.index),
        ]
    finally:
        torch.cuda.set_sync_debug_mode(0)


@case("streams/debug_mode_and_a_stream_that_is_waited_for")
def debug_mode_and_a_stream_that_is_waited_for():
    torch.cuda.set_sync_debug_mode("error")
    try:
        return [E(current().synchronize)]
    finally:
        torch.cuda.set_sync_debug_mode(0)


@case(
    "streams/debug_mode_of_another_name",
    expect={
        "exc": "RuntimeError",
        "msg": "invalid value of debug_mode, expected one of `default`, `warn`, `error`",
    },
)
def debug_mode_of_another_name():
    return E(torch.cuda.set_sync_debug_mode, "loud")


@case(
    "streams/work_in_order_on_one_stream",
    expect={"dt": "float32", "shape": [3], "v": [1023.0, 1024.0, 1025.0]},
)
def work_in_order_on_one_stream():
    s, x = torch.cuda.Stream(), F(3)
    s.wait_stream(current())
    with on(s):
        for i in range(10):
            x.add_(2**i)
    s.synchronize()
    return V(x)


@case("streams/work_handed_round_a_ring", expect=[[40.0], True])
def work_handed_round_a_ring():
    ring, x = [torch.cuda.Stream() for _ in range(4)], torch.zeros(1000, device=D)
    previous = current()
    for i in range(40):
        s = ring[i % 4]
        s.wait_stream(previous)
        with on(s):
            x.add_(1)
        previous = s
    current().wait_stream(previous)
    return [values(x), all(s.query() for s in ring)]
