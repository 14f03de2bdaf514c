"""Copies between host and device: pinned and pageable, blocking and not."""

from __future__ import annotations

from functools import partial

import torch

from . import harness
from .harness import D
from .racing import N, current, full, nap, on, pinned, settled, sync, values

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


@pair("copies/download_to_pinned_memory_read_early", racy=[[-1.0], [4.0]], mended=[[4.0], [4.0]])
def download_to_pinned_memory_read_early(mended):
    def run():
        a, h = full(4.0), pinned(-1.0)
        sync()
        nap()
        h.copy_(a, non_blocking=True)
        if mended:
            current().synchronize()
        early = values(h)
        sync()
        return [early, values(h)]

    return settled(run)


@pair("copies/download_seen_through_numpy", racy=[-1.0, 2.0], mended=[2.0, 2.0])
def download_seen_through_numpy(mended):
    def run():
        a, h = full(2.0), pinned(-1.0)
        view = h.numpy()
        sync()
        nap()
        h.copy_(a, non_blocking=True)
        if mended:
            current().record_event().synchronize()
        early = float(view[100])
        sync()
        return [early, float(view[100])]

    return settled(run)


@pair("copies/to_cpu_without_blocking", racy=[False, True], mended=[True, True])
def to_cpu_without_blocking(mended):
    turn = [0]

    def run():
        turn[0] += 1
        a = full(5.0 + turn[0])
        sync()
        nap()
        h = a.to("cpu", non_blocking=True)
        if mended:
            sync()
        early = values(h) == [5.0 + turn[0]]
        sync()
        return [early, values(h) == [5.0 + turn[0]]]

    return settled(run)


@case("copies/download_to_pageable_memory_has_come_when_it_returns", expect=[[3.0], True])
def download_to_pageable_memory_has_come_when_it_returns():
    def run():
        a, h = full(3.0), torch.full((N,), -1.0)
        sync()
        nap()
        h.copy_(a, non_blocking=True)
        return [values(h), current().query()]

    return settled(run)


@case("copies/pageable_source_may_change_at_once", expect=[[1.0]])
def pageable_source_may_change_at_once():
    def run():
        a, h = full(0.0), torch.ones(N)
        sync()
        nap()
        a.copy_(h, non_blocking=True)
        h.fill_(7)
        sync()
        return [values(a)]

    return settled(run)


@pair("copies/one_pinned_buffer_for_many_uploads", racy=[[3.0], [3.0], [3.0]], mended=[[1.0], [2.0], [3.0]])
def one_pinned_buffer_for_many_uploads(mended):
    def run():
        h, targets = pinned(0.0), [full(0.0) for _ in range(3)]
        sync()
        nap()
        for i, target in enumerate(targets):
            h.fill_(i + 1)
            target.copy_(h, non_blocking=True)
            if mended:
                current().synchronize()
        sync()
        return [values(t) for t in targets]

    return settled(run)


@pair("copies/upload_used_on_another_stream", racy=[0.0], mended=[9.0])
def upload_used_on_another_stream(mended):
    s = torch.cuda.Stream()

    def run():
        h, a, o = pinned(9.0), full(0.0), full(-1.0)
        sync()
        with on(s):
            nap()
            a.copy_(h, non_blocking=True)
        if mended:
            current().wait_stream(s)
        o.copy_(a)
        sync()
        return values(o)

    return settled(run)


@pair("copies/download_of_what_another_stream_still_writes", racy=[0.0], mended=[6.0])
def download_of_what_another_stream_still_writes(mended):
    s = torch.cuda.Stream()

    def run():
        a = full(0.0)
        sync()
        with on(s):
            nap()
            a.fill_(6)
        if mended:
            current().wait_stream(s)
        early = values(a.cpu())
        sync()
        return early

    return settled(run)


@case("copies/a_blocking_copy_waits_for_the_current_stream_only", expect=[[1.0], False, [2.0], True])
def a_blocking_copy_waits_for_the_current_stream_only():
    s = torch.cuda.Stream()

    def run():
        a, b = full(1.0), full(0.0)
        sync()
        with on(s):
            nap()
            b.fill_(2)
        first = values(a.cpu())
        seen = [first, s.query()]
        with on(s):
            second = values(b.cpu())
        return [*seen, second, s.query()]

    return settled(run)


@case(
    "copies/asking_for_a_value_waits_for_the_current_stream",
    expect=[3.0, [3.0], 3, True, "3.00", True, [[0]], True],
)
def asking_for_a_value_waits_for_the_current_stream():
    a = torch.zeros(1, device=D)

    def asked(question):
        a.zero_()
        sync()
        nap()
        a.fill_(3)
        return question()

    def run():
        return [
            asked(a.item),
            asked(a.tolist),
            asked(lambda: int(a)),
            asked(lambda: bool(a)),
            asked(lambda: f"{a.item():.2f}"),
            asked(lambda: torch.equal(a, torch.full((1,), 3.0, device=D))),
            asked(lambda: a.nonzero().tolist()),
            asked(lambda: a.cpu().numpy()[0] == 3),
        ]

    return settled(run)


@case("copies/work_on_the_device_does_not_wait", expect=[False, [1.0], True])
def work_on_the_device_does_not_wait():
    def run():
        a, o = full(1.0), full(0.0)
        sync()
        nap()
        o.copy_(a, non_blocking=False)
        b = o.clone()
        early = current().query()
        return [early, values(b), current().query()]

    return settled(run)
