"""Kernels on the device at once: room for blocks, memory bandwidth and priorities."""

import pytest

from grader.simgpu.clock import Cost


def run(device, *work):
    """Queue (cost, priority) pairs on a stream each, let the device finish, return the items."""
    items = [
        device.queue(device.lane(f"s{i}", priority), cost, f"kernel {i}")
        for i, (cost, priority) in enumerate(work)
    ]
    device.host_waits()
    return items


def test_a_kernel_that_fills_the_device_keeps_the_next_one_out(device):
    first, second = run(device, (Cost(2.0, room=1.0), 0), (Cost(1.0, room=0.1), 0))
    assert (second.start, second.end) == (first.end, 3)
    assert second.why == "room"


def test_what_is_left_of_the_room_goes_to_the_next_kernel(device):
    # The second has half of the room it asks for until the first ends: 1 s of its 2 s is done by then.
    first, second = run(device, (Cost(2.0, room=0.75), 0), (Cost(2.0, room=0.5), 0))
    assert (first.start, first.end) == (0, 2)
    assert (second.start, second.end) == (0, 3)


def test_memory_bandwidth_is_shared(device):
    first, second = run(
        device,
        (Cost(1.0, room=0.1, bandwidth=1.0), 0),
        (Cost(1.0, room=0.1, bandwidth=1.0), 0),
    )
    assert first.end == second.end == pytest.approx(2)


def test_a_kernel_that_needs_little_bandwidth_is_hardly_slowed(device):
    arithmetic, memory = run(
        device,
        (Cost(1.0, room=0.1, bandwidth=0.1), 0),
        (Cost(1.0, room=0.1, bandwidth=1.0), 0),
    )
    assert arithmetic.end == pytest.approx(1.01)
    assert 1.0 < memory.end < 1.11


def test_blocks_of_a_higher_priority_go_first(device):
    low, high = run(device, (Cost(4.0, room=1.0, waves=10), 0), (Cost(1.0, room=1.0, waves=10), -1))
    assert (high.start, high.end) == (0, 1)
    assert low.end == 5


def test_without_priorities_the_first_goes_first(device):
    first, second = run(device, (Cost(4.0, room=1.0, waves=10), 0), (Cost(1.0, room=1.0, waves=10), 0))
    assert (first.end, second.end) == (4, 5)


def test_running_blocks_are_not_taken_off_for_a_higher_priority(device):
    low = device.queue(device.lane("low"), Cost(4.0, room=1.0, waves=1), "low")
    device.spend(1.0, "the host does something else")
    high = device.queue(device.lane("high", -1), Cost(2.0, room=1.0, waves=1), "high")
    device.host_waits()
    assert (low.end, high.start) == (4, 4)


def test_a_higher_priority_that_comes_later_takes_over_between_rounds(device):
    low = device.queue(device.lane("low"), Cost(4.0, room=1.0, waves=100), "low")
    device.spend(1.0, "the host does something else")
    high = device.queue(device.lane("high", -1), Cost(2.0, room=1.0, waves=100), "high")
    device.host_waits()
    assert (high.start, high.end) == (1, 3)
    assert (low.start, low.end) == (0, 6)


def test_32_sleep_kernels_run_side_by_side(device):
    items = run(device, *[(Cost(1.0, room=1 / 4224), 0)] * 32)
    assert {i.end for i in items} == {1.0}
