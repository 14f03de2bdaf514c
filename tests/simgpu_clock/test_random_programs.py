"""What holds for any program: order, waits, engines, and results that do not depend on when one looks."""

import random

import pytest

from grader.simgpu.clock import Cost, Device
from grader.simgpu.clock.profiles import H200


def run(seed, looks):
    """A random program on five streams. looks: whether the host looks at the device all the time."""
    choose = random.Random(seed)
    device = Device(H200)
    lanes = [device.lane(str(i), priority=choose.choice((0, 0, -1))) for i in range(5)]
    entries, waits, marks = [], [], []
    for _ in range(300):
        lane, action = choose.choice(lanes), choose.random()
        if action < 0.65:
            cost = Cost(
                choose.uniform(0, 40e-6), choose.random(), choose.random(), choose.uniform(0, 15e-6),
                choose.choice((1, 5)),
            )  # fmt: skip
            engine = choose.choice(("compute", "compute", "h2d", "d2h"))
            entries.append(device.queue(lane, cost, "work", engine=engine))
        elif action < 0.8 or not marks:
            marks.append(device.mark(lane))
            entries.append(marks[-1])
        elif action < 0.97:
            mark = choose.choice(marks)
            device.wait(lane, mark)
            waits.append((len(entries), lane, mark))
        else:
            device.host_waits(choose.choice([None, lane, *marks]))
        if looks:
            for entry in entries[-3:]:
                device.over(entry)
    device.host_waits()
    return device, lanes, entries, waits


def items_of(entries):
    return [e for e in entries if hasattr(e, "cost")]


@pytest.mark.parametrize("seed", range(20))
def test_order_waits_and_engines_are_kept(seed):
    device, lanes, entries, waits = run(seed, looks=False)
    assert all(e.end is not None and e.end <= device.host for e in entries)
    for lane in lanes:
        of_lane = [e for e in entries if e.lane is lane]
        ends = [e.end for e in of_lane]
        assert ends == sorted(ends)
        for before, after in zip(items_of(of_lane), items_of(of_lane)[1:], strict=False):
            assert after.start >= before.end
    for place, lane, mark in waits:
        held_back = [e for e in items_of(entries[place:]) if e.lane is lane]
        assert all(item.start >= mark.end for item in held_back)
    for engine in ("h2d", "d2h"):
        copies = sorted((e for e in items_of(entries) if e.engine == engine), key=lambda e: e.start)
        assert all(b.start >= a.end for a, b in zip(copies, copies[1:], strict=False))


@pytest.mark.parametrize("seed", range(20))
def test_nothing_runs_before_it_was_launched_or_faster_than_alone(seed):
    _, _, entries, _ = run(seed, looks=False)
    for item in items_of(entries):
        assert item.start > item.submitted
        assert item.end - item.start >= item.cost.seconds * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_device_is_never_fuller_than_full(seed):
    _, _, entries, _ = run(seed, looks=False)
    kernels = [e for e in items_of(entries) if e.engine == "compute"]
    work = sum(k.cost.seconds * k.cost.room for k in kernels)
    busy = max(k.end for k in kernels) - min(k.start for k in kernels)
    assert work <= busy * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_looking_does_not_change_what_happens(seed):
    quiet, looking = run(seed, looks=False), run(seed, looks=True)
    assert [e.end for e in looking[2]] == pytest.approx([e.end for e in quiet[2]], rel=1e-9)
