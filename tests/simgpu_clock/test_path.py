"""The critical path, against examples computed by hand."""

import pytest

from grader.simgpu.clock import Cost
from grader.timelines import simulated


@pytest.fixture
def chart(device):
    """chart(fn) runs fn(device) and gives its chart."""

    def run(fn):
        with device.recording() as recording:
            fn(device)
        return simulated.chart(recording, "a GPU")

    return run


def names(chart):
    return [step.name for step in chart.path]


def test_one_stream_is_its_own_path(chart):
    def work(device):
        s = device.lane("s")
        device.queue(s, Cost(2.0), "first")
        device.queue(s, Cost(3.0), "second")

    found = chart(work)
    assert names(found) == ["launch first", "first", "second"]
    assert found.end == 5


def test_the_longer_of_two_streams(chart):
    def work(device):
        device.queue(device.lane("a"), Cost(2.0), "short")
        device.queue(device.lane("b"), Cost(3.0), "long")

    found = chart(work)
    assert names(found)[-1] == "long"
    assert "short" not in names(found)
    assert found.end == 3


def test_a_path_goes_through_waits(chart):
    # a: first 2 s, then long 9 s. b waits for first only, 4 s. c waits for b, 6 s: 2 + 4 + 6 = 12 > 2 + 9.
    def work(device):
        a, b, c = (device.lane(name) for name in "abc")
        device.queue(a, Cost(2.0), "first")
        mark = device.mark(a)
        device.queue(a, Cost(9.0), "long")
        device.wait(b, mark)
        device.queue(b, Cost(4.0), "second")
        device.wait(c, device.mark(b))
        device.queue(c, Cost(6.0), "third")

    found = chart(work)
    assert names(found) == ["launch first", "first", "second", "third"]
    assert found.end == 12


def test_a_path_goes_through_missing_room(chart):
    def work(device):
        device.queue(device.lane("a"), Cost(2.0, room=1.0), "fills the device")
        device.queue(device.lane("b"), Cost(1.0, room=0.5), "finds no room")

    assert names(chart(work))[1:] == ["fills the device", "finds no room"]


def test_a_path_goes_through_a_copy_engine(chart):
    def work(device):
        device.queue(device.lane("a"), Cost(2.0), "in 1", "copy", "h2d")
        device.queue(device.lane("b"), Cost(2.0), "in 2", "copy", "h2d")

    assert names(chart(work))[1:] == ["in 1", "in 2"]


def test_a_path_goes_through_a_host_that_waits(chart):
    # The host waits for a's 5 s before it launches b's 1 s.
    def work(device):
        a, b = device.lane("a"), device.lane("b")
        device.queue(a, Cost(5.0, host=0.5), "long")
        device.host_waits(a, "a.synchronize()")
        device.queue(b, Cost(1.0, host=0.5), "late")

    found = chart(work)
    assert names(found) == ["launch long", "long", "a.synchronize()", "launch late", "late"]
    assert found.end == pytest.approx(0.5 + 5 + 0.5 + 1)


@pytest.mark.parametrize("last", ["item", "mark", "wait"])
def test_a_host_that_waits_for_everything_waits_for_the_work_that_ended_last(chart, last):
    def work(device):
        a, b = device.lane("a"), device.lane("b")
        device.queue(b, Cost(1.0), "short")
        device.queue(a, Cost(5.0), "long")
        if last != "item":
            mark = device.mark(a)
        if last == "wait":
            device.wait(b, mark)
        device.host_waits(None, "synchronize")

    found = chart(work)
    assert found.host[-1].on.name == "long"
    assert names(found)[-2:] == ["long", "synchronize"]


def test_what_follows_a_wait_for_an_event_of_an_idle_stream_waits_for_the_host(chart):
    def work(device):
        a, b = device.lane("a"), device.lane("b")
        device.spend(3.0, "the host thinks")
        device.wait(b, device.mark(a))
        device.queue(b, Cost(1.0), "work")

    assert names(chart(work)) == ["the host thinks", "work"]


def test_a_path_through_the_host_alone(chart):
    def work(device):
        s = device.lane("s")
        for i in range(3):
            device.queue(s, Cost(0.1, host=1.0), f"tiny {i}")

    assert names(chart(work)) == ["launch tiny 0", "launch tiny 1", "launch tiny 2", "tiny 2"]


def test_a_wait_that_costs_nothing_is_not_on_the_path(chart):
    def work(device):
        a, b = device.lane("a"), device.lane("b")
        device.queue(a, Cost(1.0), "short")
        device.queue(b, Cost(4.0), "long")
        device.wait(b, device.mark(a))
        device.queue(b, Cost(1.0), "after")

    path = names(chart(work))
    assert path[-2:] == ["long", "after"]
    assert "short" not in path


def test_times_count_from_the_beginning_of_the_recording(device, chart):
    device.queue(device.lane("s"), Cost(7.0), "before")
    device.host_waits()
    found = chart(lambda d: d.queue(d.lane("s"), Cost(1.0), "inside"))
    assert [(b.name, b.start, b.end) for b in found.bars] == [("inside", 0, 1)]


def test_every_step_of_a_path_begins_no_earlier_than_the_last_one_began(chart):
    def work(device):
        lanes = [device.lane(str(i)) for i in range(3)]
        for i in range(60):
            device.queue(lanes[i % 3], Cost(1.0 + i % 7, room=0.4 + i % 5 / 10, host=0.2), f"work {i}")
            if i % 4 == 0:
                device.wait(lanes[(i + 1) % 3], device.mark(lanes[i % 3]))

    found = chart(work)
    starts = [step.start for step in found.path]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert found.path[-1].end == found.end


def test_an_empty_run_has_an_empty_path(chart):
    found = chart(lambda device: None)
    assert found.path == []
    assert found.end == 0
