"""Orderings left out, each with its mended twin: a spin kernel makes certain what the racy one gives."""

from __future__ import annotations

from functools import partial

import torch

from . import harness
from .harness import D
from .racing import N, current, nap, on, ready, settled, sync, values

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


@pair("races/read_on_the_default_stream", racy=[1.0], mended=[11.0])
def read_on_the_default_stream(mended):
    s = torch.cuda.Stream()

    def run():
        a, o = ready(0.0, 0.0)
        with on(s):
            nap()
            a.add_(10)
        if mended:
            current().wait_stream(s)
        torch.add(a, 1, out=o)
        sync()
        return values(o)

    return settled(run)


@pair("races/read_on_a_side_stream", racy=[0.0], mended=[5.0])
def read_on_a_side_stream(mended):
    s = torch.cuda.Stream()

    def run():
        a, o = ready(0.0, -1.0)
        nap()
        a.fill_(5)
        if mended:
            s.wait_stream(current())
        with on(s):
            o.copy_(a)
        sync()
        return values(o)

    return settled(run)


@pair("races/overwritten_before_it_is_read", racy=[7.0], mended=[1.0])
def overwritten_before_it_is_read(mended):
    s = torch.cuda.Stream()

    def run():
        a, o = ready(1.0, 0.0)
        nap()
        o.copy_(a)
        if mended:
            s.wait_stream(current())
        with on(s):
            a.fill_(7)
        sync()
        return values(o)

    return settled(run)


@pair("races/two_writers", racy=[1.0], mended=[2.0])
def two_writers(mended):
    s = torch.cuda.Stream()

    def run():
        (a,) = ready(0.0)
        nap()
        a.fill_(1)
        if mended:
            s.wait_stream(current())
        with on(s):
            a.fill_(2)
        sync()
        return values(a)

    return settled(run)


@pair("races/event_recorded_before_the_work", racy=[0.0], mended=[3.0])
def event_recorded_before_the_work(mended):
    s = torch.cuda.Stream()

    def run():
        a, o = ready(0.0, -1.0)
        done = torch.cuda.Event()
        with on(s):
            if not mended:
                done.record()
            nap()
            a.fill_(3)
            if mended:
                done.record()
        done.wait()
        o.copy_(a)
        sync()
        return values(o)

    return settled(run)


@pair("races/wait_for_the_other_event", racy=[0.0], mended=[4.0])
def wait_for_the_other_event(mended):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()

    def run():
        a, b, o = ready(0.0, 0.0, -1.0)
        first, second = torch.cuda.Event(), torch.cuda.Event()
        with on(s):
            nap()
            a.fill_(4)
            first.record()
        with on(t):
            b.fill_(5)
            second.record()
        (first if mended else second).wait()
        o.copy_(a)
        sync()
        return values(o)

    return settled(run)


@pair("races/a_chain_with_a_link_missing", racy=[100.0], mended=[111.0])
def a_chain_with_a_link_missing(mended):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()

    def run():
        a, b, o = ready(0.0, 0.0, 0.0)
        s.wait_stream(current())
        with on(s):
            nap()
            a.fill_(1)
            torch.add(a, 10, out=b)
        if mended:
            t.wait_stream(s)
        with on(t):
            torch.add(b, 100, out=o)
        current().wait_stream(t)
        sync()
        return values(o)

    return settled(run)


@pair("races/through_another_view", racy=[0.0], mended=[0.0, 9.0])
def through_another_view(mended):
    s = torch.cuda.Stream()

    def run():
        a, o = torch.zeros(64, 64, device=D), torch.zeros(64, 64, device=D)
        sync()
        with on(s):
            nap()
            a.view(-1)[::2].fill_(9)
        if mended:
            current().wait_stream(s)
        o.copy_(a.t())
        sync()
        return values(o)

    return settled(run)


@case("races/neighbours_in_one_storage_do_not_meet", expect=[[2.0], False])
def neighbours_in_one_storage_do_not_meet():
    s = torch.cuda.Stream()

    def run():
        a, o = ready(2.0, 0.0)
        with on(s):
            nap()
            a[: N // 2].fill_(8)
        o[N // 2 :].copy_(a[N // 2 :])
        seen = [values(o[N // 2 :]), s.query()]
        sync()
        return seen

    return settled(run)


@pair("races/sum_asked_too_early", racy=0.0, mended=float(N))
def sum_asked_too_early(mended):
    s = torch.cuda.Stream()

    def run():
        (a,) = ready(0.0)
        with on(s):
            nap()
            a.fill_(1)
        if mended:
            s.synchronize()
        total = a.sum().item()
        sync()
        return total

    return settled(run)


@pair("races/several_inputs_of_one_operation", racy=[1.0, 2.0], mended=[1.0, 2.0, 3.0])
def several_inputs_of_one_operation(mended):
    s = torch.cuda.Stream()

    def run():
        a, b, c = ready(1.0, 2.0, 1.0)
        o = torch.zeros(3 * N, device=D)
        sync()
        with on(s):
            nap()
            c.fill_(3)
        if mended:
            current().wait_stream(s)
        torch.cat([a, b, c], out=o)
        sync()
        return values(o)

    return settled(run)
