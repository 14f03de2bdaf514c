"""Streams in virtual time: in order inside one, waits between them, copy engines, and the host."""

import threading

import pytest

from grader.simgpu.clock import Cost


def test_work_of_one_stream_runs_in_order(device):
    s = device.lane("s")
    first = device.queue(s, Cost(3.0), "first")
    second = device.queue(s, Cost(2.0), "second")
    device.host_waits()
    assert (first.start, first.end) == (0, 3)
    assert (second.start, second.end) == (3, 5)


def test_work_of_two_streams_overlaps_where_there_is_room(device):
    first = device.queue(device.lane("a"), Cost(3.0, room=0.5), "first")
    second = device.queue(device.lane("b"), Cost(2.0, room=0.5), "second")
    device.host_waits()
    assert (first.end, second.end) == (3, 2)


def test_the_host_pays_for_each_launch_and_the_device_starts_only_then(device):
    s = device.lane("s")
    device.queue(s, Cost(1.0, host=4.0), "first")
    second = device.queue(s, Cost(1.0, host=4.0), "second")
    assert device.host == 8
    device.host_waits()
    assert (second.start, second.end) == (8, 9)
    assert second.why == "host"


def test_a_wait_holds_back_what_is_queued_after_it_only(device):
    a, b = device.lane("a"), device.lane("b")
    device.queue(a, Cost(5.0), "long")
    before = device.queue(b, Cost(1.0), "before the wait")
    device.wait(b, device.mark(a))
    after = device.queue(b, Cost(1.0), "after the wait")
    device.host_waits()
    assert (before.start, before.end) == (0, 1)
    assert (after.start, after.end) == (5, 6)
    assert after.why == "event"


def test_a_mark_does_not_cover_what_is_queued_after_it(device):
    a, b = device.lane("a"), device.lane("b")
    device.queue(a, Cost(2.0), "covered")
    mark = device.mark(a)
    device.queue(a, Cost(9.0), "not covered")
    device.wait(b, mark)
    waiting = device.queue(b, Cost(1.0), "waiting")
    device.host_waits()
    assert waiting.start == 2


def test_a_wait_for_what_is_over_costs_no_time(device):
    a, b = device.lane("a"), device.lane("b")
    device.queue(a, Cost(2.0), "early")
    mark = device.mark(a)
    device.host_waits(mark)
    device.spend(10.0, "the host does something else")
    device.wait(b, mark)
    late = device.queue(b, Cost(1.0), "late")
    device.host_waits()
    assert late.start == 12
    assert late.why == "host"


def test_waits_pass_through_a_third_stream(device):
    a, b, c = (device.lane(name) for name in "abc")
    work = device.queue(a, Cost(4.0), "work")
    device.wait(b, device.mark(a))
    device.wait(c, device.mark(b))
    with device.recording():
        last = device.queue(c, Cost(1.0), "last")
    assert last.start == work.end == 4


def test_elapsed_is_in_milliseconds_and_counts_what_lies_between(device):
    s = device.lane("s")
    start = device.mark(s)
    device.queue(s, Cost(0.25), "quarter of a second")
    end = device.mark(s)
    device.host_waits(end)
    assert device.elapsed(start, end) == pytest.approx(250)
    assert device.elapsed(end, start) == pytest.approx(-250)


def test_elapsed_refuses_what_is_not_over(device):
    s = device.lane("s")
    start = device.mark(s)
    device.queue(s, Cost(1.0), "work")
    end = device.mark(s)
    with pytest.raises(ValueError, match="not over yet"):
        device.elapsed(start, end)


def test_copies_of_one_direction_take_turns_and_copies_of_both_overlap(device):
    both = device.profile.both_directions
    a, b, c = (device.lane(name) for name in "abc")
    first = device.queue(a, Cost(2.0), "in", "copy", "h2d")
    second = device.queue(b, Cost(2.0), "in", "copy", "h2d")
    other = device.queue(c, Cost(2.0), "out", "copy", "d2h")
    device.host_waits()
    assert first.start == other.start == 0
    assert second.start == first.end == other.end == pytest.approx(2 / both)
    assert second.end == pytest.approx(second.start + 2)
    assert second.why == "engine"


def test_copies_and_kernels_do_not_take_room_from_each_other(device):
    kernel = device.queue(device.lane("a"), Cost(2.0, room=1.0), "kernel")
    copy = device.queue(device.lane("b"), Cost(2.0), "in", "copy", "h2d")
    device.host_waits()
    assert kernel.end == copy.end == 2


def test_copies_keep_the_order_of_their_own_stream(device):
    s = device.lane("s")
    device.queue(s, Cost(2.0), "in", "copy", "h2d")
    kernel = device.queue(s, Cost(1.0), "kernel")
    out = device.queue(s, Cost(2.0), "out", "copy", "d2h")
    device.host_waits()
    assert (kernel.start, out.start) == (2, 3)


def test_waiting_for_a_stream_leaves_the_others_running(device):
    a, b = device.lane("a"), device.lane("b")
    device.queue(a, Cost(1.0), "short")
    long = device.queue(b, Cost(10.0), "long")
    device.host_waits(a)
    assert device.host == 1
    assert not device.over(long)
    device.host_waits()
    assert device.host == 10


def test_a_call_that_returns_when_its_work_is_done_takes_the_host_there(device):
    device.queue(device.lane("s"), Cost(3.0, host=1.0, host_waits=True), "blocking", "copy", "h2d")
    assert device.host == 4


def test_a_full_queue_makes_the_host_wait(device):
    s = device.lane("s")
    for _ in range(1024):
        device.queue(s, Cost(1.0), "work")
    assert device.host == 0
    device.queue(s, Cost(1.0), "one more")
    assert device.host == 1


def test_threads_may_queue_at_the_same_time(device):
    def work(lane):
        for _ in range(500):
            device.queue(lane, Cost(1e-6), "work")

    lanes = [device.lane(str(i)) for i in range(4)]
    threads = [threading.Thread(target=work, args=(lane,)) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    device.host_waits()
    assert [lane.finished for lane in lanes] == pytest.approx([500e-6] * 4)
