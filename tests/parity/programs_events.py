"""Events: order, time, and the words of their errors."""

from __future__ import annotations

from functools import partial

import torch

from . import harness
from .harness import ET, E, F
from .racing import current, nap, settled, sync

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


@case("events/elapsed_time_without_timing_comes_first", expect=[NO_TIMING] * 4)
def elapsed_time_without_timing_comes_first():
    plain, recorded = torch.cuda.Event(), torch.cuda.Event()
    recorded.record()
    with_timing = timed()
    sync()
    return [
        E(plain.elapsed_time, plain),
        E(with_timing.elapsed_time, plain),
        E(plain.elapsed_time, with_timing),
        E(recorded.elapsed_time, recorded),
    ]


@case("events/elapsed_time_of_events_not_recorded", expect=[NOT_RECORDED] * 3)
def elapsed_time_of_events_not_recorded():
    a, b = timed(), timed()
    b.record()
    sync()
    return [E(a.elapsed_time, timed()), E(a.elapsed_time, b), E(b.elapsed_time, a)]


@case("events/elapsed_time_of_events_not_completed", expect=[NOT_COMPLETED, NOT_COMPLETED, True])
def elapsed_time_of_events_not_completed():
    def run():
        a, b = timed(), timed()
        a.record()
        nap()
        b.record()
        early = [E(a.elapsed_time, b), E(b.elapsed_time, a)]
        b.synchronize()
        return [*early, a.elapsed_time(b) > 5]

    return settled(run)


@case("events/elapsed_time_of_something_else", expect=[NO_EVENT, NO_EVENT, NO_EVENT, {"exc": "TypeError"}])
def elapsed_time_of_something_else():
    a = timed()
    a.record()
    sync()
    return [E(a.elapsed_time, 3), E(a.elapsed_time, None), E(a.elapsed_time, current()), E(a.elapsed_time)]


@case("events/never_recorded", expect=[True, None, None, None, True, True])
def never_recorded():
    e, s = timed(), torch.cuda.Stream()
    return [e.query(), e.synchronize(), e.wait(), s.wait_event(e), s.query(), e.query()]


@case("events/twice_the_work_takes_twice_as_long", expect=[True, True, True, True])
def twice_the_work_takes_twice_as_long():
    def run():
        a, b, c = timed(), timed(), timed()
        nap()
        a.record()
        nap()
        b.record()
        nap(2)
        c.record()
        sync()
        one, two, both = a.elapsed_time(b), b.elapsed_time(c), a.elapsed_time(c)
        return [one > 5, 1.5 < two / one < 2.5, abs(one + two - both) < 0.1 * both, type(both) is float]

    return settled(run)


@case("events/time_runs_backwards_from_the_later_one", expect=[True, 0.0, True])
def time_runs_backwards_from_the_later_one():
    def run():
        a, b = timed(), timed()
        a.record()
        nap()
        b.record()
        sync()
        return [b.elapsed_time(a) < -5, a.elapsed_time(a), abs(a.elapsed_time(b) + b.elapsed_time(a)) < 0.01]

    return settled(run)


@case("events/nothing_in_between", expect=[True, True])
def nothing_in_between():
    def run():
        a, b = timed(), timed()
        a.record()
        b.record()
        sync()
        return [0 <= a.elapsed_time(b) < 0.5, a.elapsed_time(b) == a.elapsed_time(b)]

    return settled(run)


@case("events/timing_and_interprocess_exclude_each_other", expect=[{"exc": "AcceleratorError"}, True])
def timing_and_interprocess_exclude_each_other():
    def both():
        torch.cuda.Event(enable_timing=True, interprocess=True).record()

    return [E(both), torch.cuda.Event(interprocess=True).query()]


@case("events/blocking_is_about_the_host", expect=[False, True, True])
def blocking_is_about_the_host():
    def run():
        e = torch.cuda.Event(blocking=True, enable_timing=True)
        nap()
        e.record()
        early = e.query()
        e.synchronize()
        return [early, e.query(), current().query()]

    return settled(run)


@case(
    "events/what_they_look_like",
    expect=["<torch.cuda.Event uninitialized>", True, 0, True, "cuda:0", "Event"],
)
def what_they_look_like():
    e = torch.cuda.Event()
    before, handle = repr(e), e.cuda_event
    e.record()
    return [
        before,
        repr(e).startswith("<torch.cuda.Event 0x"),
        handle,
        e.cuda_event != 0,
        str(e.device),
        type(e).__name__,
    ]


@case("events/of_any_device", expect=["cuda", True, True, True])
def of_any_device():
    e = torch.Event("cuda")
    e.record()
    e.synchronize()
    a, b = torch.Event("cuda", enable_timing=True), torch.Event("cuda", enable_timing=True)
    a.record()
    b.record()
    sync()
    untimed = ET(e.elapsed_time, e)
    return [e.device.type, e.query(), a.elapsed_time(b) >= 0, "exc" in untimed]


@case("events/wrong_arguments", expect=["AttributeError", "AttributeError", "AttributeError", "TypeError"])
def wrong_arguments():
    e, s = torch.cuda.Event(), torch.cuda.Stream()
    wrong = (
        lambda: s.wait_event("e"),
        lambda: s.wait_stream(F(1)),
        lambda: s.record_event(3),
        lambda: torch.cuda.Event(enable_tming=True),
    )
    assert e.query()
    return [E(f).get("exc") for f in wrong]
