"""Replays are asynchronous: racy programs are found each time, with what is sure to be seen."""

import pytest
import torch

from grader.simgpu import order
from tests.simgpu_graphs.capturing import capture, current, full


def host_reads_too_early(fixed):
    x, out = full(1), torch.full((4,), -1.0).pin_memory()
    graph, _ = capture(lambda: out.copy_(x + 1, non_blocking=True), warm=False)
    graph.replay()
    if fixed:
        current().synchronize()
    return out.tolist()


def host_writes_too_early(fixed):
    source, x = torch.ones(4).pin_memory(), full(0)
    graph, _ = capture(lambda: x.copy_(source, non_blocking=True), warm=False)
    graph.replay()
    if fixed:
        torch.cuda.synchronize()
    source.fill_(9)
    torch.cuda.synchronize()
    return x.tolist()


def another_stream_reads_too_early(fixed):
    x, s = full(3), torch.cuda.Stream()
    graph, _ = capture(lambda: x.mul_(2), warm=False)
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        graph.replay()
    if fixed:
        current().wait_stream(s)
    return (x + 0).tolist()


def a_view_is_read_too_early(fixed):
    x, s = full(3, 8), torch.cuda.Stream()
    half = x[2:6]
    graph, _ = capture(lambda: x.mul_(2), warm=False)
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        graph.replay()
        done = s.record_event()
    if fixed:
        done.wait()
    return (half + 0).tolist()


def the_input_is_refilled_too_early(fixed):
    x, s = full(1), torch.cuda.Stream()
    graph, y = capture(lambda: x * 10, warm=False)
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        graph.replay()
    if fixed:
        current().wait_stream(s)
    x.fill_(7)
    torch.cuda.synchronize()
    return y.tolist()


def the_input_is_not_ready(fixed):
    x, s = full(1), torch.cuda.Stream()
    graph, y = capture(lambda: x * 10, warm=False)
    torch.cuda.synchronize()
    x.fill_(7)
    if fixed:
        s.wait_stream(current())
    with torch.cuda.stream(s):
        graph.replay()
    torch.cuda.synchronize()
    return y.tolist()


def a_branch_inside_does_not_wait(fixed):
    x, s = full(1), torch.cuda.Stream()

    def f():
        x.mul_(2)
        s.wait_stream(current())
        x.add_(1)
        if fixed:
            s.wait_stream(current())
        with torch.cuda.stream(s):
            y = x * 10
        current().wait_stream(s)
        return y

    graph, y = capture(f, warm=False)
    graph.replay()
    return y.tolist()


def the_input_was_freed(fixed):
    def captured():
        x = full(5, 64)
        return (*capture(lambda: x + 1, warm=False), x)

    graph, y, *kept = captured()
    if not fixed:
        kept.clear()
    torch.cuda.synchronize()
    other = full(7, 64)
    graph.replay()
    return (other * 0 + y).tolist()[:4]


# What the racy program returns on every run, and the mended one.
PROGRAMS = {
    host_reads_too_early: ("host_read_early", [-1] * 4, [2] * 4),
    host_writes_too_early: ("host_write_early", [9] * 4, [1] * 4),
    another_stream_reads_too_early: ("read_before_write", [3] * 4, [6] * 4),
    a_view_is_read_too_early: ("read_before_write", [3] * 4, [6] * 4),
    the_input_is_refilled_too_early: ("overwritten_while_read", [70] * 4, [10] * 4),
    the_input_is_not_ready: ("read_before_write", [10] * 4, [70] * 4),
    a_branch_inside_does_not_wait: ("read_before_write", [20] * 4, [30] * 4),
}
BY_NAME = {program.__name__: program for program in PROGRAMS}


def run(program, fixed):
    with order.collect() as found:
        values = program(fixed)
        torch.cuda.synchronize()
    return values, found


@pytest.mark.parametrize("name", BY_NAME)
def test_a_racy_program_and_its_twin(name):
    program = BY_NAME[name]
    kind, racy, right = PROGRAMS[program]
    for _ in range(5):
        values, found = run(program, fixed=False)
        assert [f.kind for f in found] == [kind] and values == racy
        values, found = run(program, fixed=True)
        assert not found and values == right


def test_a_static_input_that_was_freed():
    values, found = run(the_input_was_freed, fixed=True)
    assert values == [6] * 4 and not found
    values, found = run(the_input_was_freed, fixed=False)
    assert [f.kind for f in found] == ["use_after_free"] and values != [6] * 4
    assert "was freed" in found[0].text and "x + 1" in found[0].text


def test_the_finding_names_the_replay_and_the_line_in_the_graph():
    _, (finding,) = run(another_stream_reads_too_early, fixed=False)
    assert "graph.replay()" in finding.text and "x.mul_(2)" in finding.text
    assert "torch.cuda.default_stream().wait_stream(s)" in finding.text
    _, (finding,) = run(a_branch_inside_does_not_wait, fixed=False)
    assert "y = x * 10" in finding.text and "x.add_(1)" in finding.text and "replay" not in finding.text


def test_replays_of_one_graph_do_not_overlap():
    x, s = full(1), torch.cuda.Stream()
    graph, _ = capture(lambda: x.mul_(2), warm=False)
    s.wait_stream(current())
    graph.replay()
    with torch.cuda.stream(s), order.collect() as found:
        graph.replay()
        assert x.tolist() == [4] * 4
    assert not found


def test_a_replay_costs_the_host_one_launch():
    x = full(1)

    def many():
        y = x
        for _ in range(50):
            y = y + 1
        return y

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed(f):
        torch.cuda.synchronize()
        start.record()
        f()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)

    graph, y = capture(many)
    eager, replayed = timed(many), timed(graph.replay)
    assert y.tolist() == [51] * 4 and replayed < eager / 2


def test_memory_does_not_grow_with_replays():
    x = full(1, 1000)
    graph, _ = capture(lambda: x * 2 + 1, warm=False)
    graph.replay()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(50):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before
