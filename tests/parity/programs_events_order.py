"""Events as points in the order of the streams."""

from __future__ import annotations

import threading
from functools import partial

import torch

from . import harness
from .racing import current, default, full, nap, on, settled, sync, values

case = partial(harness.case, recorded=False)

NO_TIMING = {"exc": "ValueError", "msg": "Both events must be created with argument 'enable_timing=True'."}
NOT_RECORDED = {"exc": "ValueError", "msg": "Both events must be recorded before calculating elapsed time."}
NOT_COMPLETED = {
    "exc": "RuntimeError",
    "msg": "Both events must be completed before calculating elapsed time.",
}
NO_EVENT = {"exc": "RuntimeError", "msg": "expected other to be a torch.cuda.Event object"}


def timed():
    return torch.cuda.Event(enable_timing=True)


@case("events/query_follows_the_stream", expect=[True, False, False, True, True])
def query_follows_the_stream():
    def run():
        before, after = torch.cuda.Event(), torch.cuda.Event()
        before.record()
        before.synchronize()
        nap()
        after.record()
        seen = [before.query(), after.query(), current().query()]
        after.synchronize()
        return [*seen, after.query(), current().query()]

    return settled(run)


@case("events/synchronize_waits_for_the_event_only", expect=[True, False])
def synchronize_waits_for_the_event_only():
    s = torch.cuda.Stream()

    def run():
        e = torch.cuda.Event()
        with on(s):
            nap()
            e.record()
            nap(8)
        e.synchronize()
        return [e.query(), s.query()]

    return settled(run)


@case("events/record_without_a_stream_takes_the_current_one", expect=[False, True, False, True])
def record_without_a_stream_takes_the_current_one():
    s = torch.cuda.Stream()

    def run():
        inside, outside, given, other = (torch.cuda.Event() for _ in range(4))
        with on(s):
            nap()
            inside.record()
            other.record(default())
        outside.record()
        given.record(s)
        for e in (outside, other):
            e.synchronize()
        return [inside.query(), outside.query(), given.query(), other.query()]

    return settled(run)


@case("events/record_in_a_context_of_the_cpu", expect=[True, False, True])
def record_in_a_context_of_the_cpu():
    s = torch.cuda.Stream()

    def run():
        e = torch.cuda.Event()
        with on(s):
            nap()
        with torch.cpu.StreamContext(s):
            e.record()
        e.synchronize()
        seen = [e.query(), s.query()]
        sync()
        return [*seen, s.query()]

    return settled(run)


@case("events/wait_takes_the_record_of_its_moment", expect=[True, False])
def wait_takes_the_record_of_its_moment():
    s = torch.cuda.Stream()

    def run():
        e = torch.cuda.Event()
        e.record()
        s.wait_event(e)
        nap()
        e.record()
        s.synchronize()
        return [s.query(), e.query()]

    return settled(run)


@case("events/wait_inside_a_context", expect=[[2.0], [0.0]])
def wait_inside_a_context():
    s, t, a, o, p = torch.cuda.Stream(), torch.cuda.Stream(), full(0.0), full(0.0), full(0.0)

    def run():
        a.zero_()
        sync()
        e = torch.cuda.Event()
        with on(s):
            nap()
            a.fill_(2)
            e.record()
        with on(t):
            p.copy_(a)
            e.wait()
            o.copy_(a)
        sync()
        return [values(o), values(p)]

    return settled(run)


@case("events/handed_to_a_thread", expect=[[3.0], [True]])
def handed_to_a_thread():
    a, o, s = full(0.0), full(0.0), torch.cuda.Stream()

    def run():
        a.zero_()
        sync()
        e, told = torch.cuda.Event(), []
        with on(s):
            nap()
            a.fill_(3)
            e.record()

        def work():
            e.wait()
            o.copy_(a)
            current().synchronize()
            told.append(e.query())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return [values(o), told]

    return settled(run)


@case("events/one_event_for_many_waiters", expect=[[1.0], [1.0], [1.0]])
def one_event_for_many_waiters():
    a, outs = full(0.0), [full(0.0) for _ in range(3)]
    streams = [torch.cuda.Stream() for _ in range(3)]

    def run():
        a.zero_()
        sync()
        nap()
        a.fill_(1)
        e = current().record_event()
        for s, o in zip(streams, outs, strict=True):
            s.wait_event(e)
            with on(s):
                o.copy_(a)
        sync()
        return [values(o) for o in outs]

    return settled(run)
