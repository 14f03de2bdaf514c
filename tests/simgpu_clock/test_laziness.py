"""What the host has seen stays so, loops that poll end, and sleeping counts."""

import threading
import time

import pytest

from grader import simgpu
from grader.simgpu import clock
from grader.simgpu.clock import Cost


def test_later_work_does_not_change_what_the_host_has_seen(device):
    s = device.lane("s")
    first = device.queue(s, Cost(1.0, room=1.0, bandwidth=1.0), "first")
    device.spend(1.5, "the host does something else")
    assert device.done(first)
    seen = first.end
    device.queue(device.lane("urgent", -3), Cost(5.0, room=1.0, bandwidth=1.0), "urgent")
    device.host_waits()
    assert first.end == seen == 1.0


def test_later_work_slows_what_is_still_running(device):
    first = device.queue(device.lane("a"), Cost(2.0, room=0.1, bandwidth=1.0), "first")
    device.spend(1.0, "the host does something else")
    assert not device.over(first)
    device.queue(device.lane("b"), Cost(2.0, room=0.1, bandwidth=1.0), "second")
    device.host_waits()
    assert first.end == pytest.approx(3.0)


def test_a_loop_that_polls_ends_nearly_at_the_right_time(device):
    s = device.lane("s")
    device.queue(s, Cost(0.5), "half a second")
    mark = device.mark(s)
    polls = 0
    while not device.done(mark):
        polls += 1
        assert polls < 20_000
    assert 0.5 <= device.host <= 0.5 * 1.002
    assert device.completed_at(mark) == 0.5


def test_a_loop_that_polls_ends_behind_other_streams_work(device):
    a, b = device.lane("a"), device.lane("b")
    device.queue(a, Cost(0.5, room=1.0), "fills the device")
    blocked = device.queue(b, Cost(1e-6, room=1.0), "finds no room")
    for _ in range(20_000):
        if device.done(blocked):
            break
    assert device.over(blocked)
    assert device.host == pytest.approx(0.5, rel=0.01)


def test_what_is_done_is_free_to_ask(device):
    s = device.lane("s")
    item = device.queue(s, Cost(1.0), "work")
    device.host_waits()
    before = device.host
    assert device.done(item) and device.done(s) and device.done(device.lane("never used"))
    assert device.host == before


def test_an_event_of_a_device_that_is_gone_says_so(device):
    other = clock.Device(device.profile)
    s = other.lane("s")
    other.queue(s, Cost(1.0), "work")
    with pytest.raises(RuntimeError, match="switched off"):
        device.host_waits(other.mark(s))


def test_what_was_queued_before_a_reset_is_over():
    old = clock.device()
    s = old.lane("s")
    old.queue(s, Cost(1.0), "work")
    mark = old.mark(s)
    simgpu.deactivate()
    simgpu.activate("sim")
    new = clock.device()
    assert new is not old
    new.host_waits(mark)
    assert new.host < 1e-3


@pytest.fixture
def process_device():
    with simgpu.simulated():
        yield clock.device()


def test_time_sleep_moves_the_hosts_time_on(process_device):
    process_device.queue(process_device.lane("s"), Cost(1e-3), "work")
    before = process_device.host
    time.sleep(0.02)
    assert process_device.host - before == pytest.approx(0.02)


def test_the_sleep_of_a_thread_that_leaves_the_gpu_alone_does_not(process_device):
    process_device.queue(process_device.lane("s"), Cost(1e-3), "work")
    before = process_device.host
    sleeper = threading.Thread(target=lambda: time.sleep(0.02))
    sleeper.start()
    sleeper.join()
    assert process_device.host == before
