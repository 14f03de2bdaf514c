"""`grader.timeline` on the simulated GPU: a learner's code with streams, events and copies."""

import os
import subprocess
import sys

import pytest
import torch

import grader
from grader.simgpu import order

CYCLES = 1_980_000  # a millisecond of the modelled GPU


def test_a_name_in_grader_that_stays_callable():
    assert grader.timeline(lambda: None).chart.bars == []
    assert callable(grader.timeline)


def test_something_that_cannot_be_called_is_refused_in_plain_words():
    with pytest.raises(TypeError, match="hand over the function itself"):
        grader.timeline(torch.ones(3))


def test_it_runs_the_function_once_to_warm_up_and_once_to_record():
    runs = []
    grader.timeline(lambda: runs.append(1))
    grader.timeline(lambda: runs.append(2), warm_up=0)
    assert runs == [1, 1, 2]


def test_an_exception_of_the_function_passes_through():
    with pytest.raises(ZeroDivisionError):
        grader.timeline(lambda: 1 / 0)


def test_kernels_and_copies_with_their_streams_and_lines():
    side = torch.cuda.Stream()
    pinned = torch.ones(1 << 16, pin_memory=True)
    torch.cuda.synchronize()

    def work():
        with torch.cuda.stream(side):
            x = pinned.to("cuda", non_blocking=True)
            y = x + 1
        torch.cuda.current_stream().wait_stream(side)
        (y * 2).cpu()

    seen = grader.timeline(work).chart.bars
    kinds = [(bar.kind, "default" in bar.stream) for bar in seen]
    assert kinds == [("h2d", False), ("kernel", False), ("kernel", True), ("d2h", True)]
    assert "y = x + 1" in str(seen[1].line)


def test_streams_have_the_names_of_the_learners_variables():
    urgent, several = torch.cuda.Stream(priority=-1), [torch.cuda.Stream() for _ in range(2)]

    def work():
        for stream in (urgent, *several):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(CYCLES)

    seen = [bar.stream for bar in grader.timeline(work).chart.bars]
    assert seen == ["stream urgent (priority -1)", "several[0]", "several[1]"]


def test_an_item_is_a_copy_to_the_host():
    x = torch.ones(8, device="cuda")
    timeline = grader.timeline(lambda: x.sum().item())
    assert [(bar.name, bar.kind) for bar in timeline.chart.bars] == [
        ("sum", "kernel"),
        ("Memcpy DtoH", "d2h"),
    ]


def test_sleeps_on_two_streams_overlap_and_on_one_they_do_not():
    a, b = torch.cuda.Stream(), torch.cuda.Stream()

    def on(*streams):
        for stream in streams:
            with torch.cuda.stream(stream):
                torch.cuda._sleep(CYCLES)
        torch.cuda.synchronize()

    apart, same = grader.timeline(lambda: on(a, b)), grader.timeline(lambda: on(a, a))
    assert 1e-3 < apart.critical_path < 1.3e-3
    assert 2e-3 < same.critical_path < 2.3e-3


def test_a_wait_is_on_the_critical_path():
    side = torch.cuda.Stream()

    def work():
        with torch.cuda.stream(side):
            torch.cuda._sleep(CYCLES)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda._sleep(CYCLES)

    timeline = grader.timeline(work)
    first, second = timeline.chart.bars
    assert (second.why, second.after) == ("event", first)
    assert [step.name for step in timeline.path[-2:]] == ["sleep", "sleep"]
    assert timeline.critical_path == pytest.approx(2e-3, rel=0.1)


def test_a_host_that_synchronises_between_is_seen_waiting():
    def work():
        torch.cuda._sleep(CYCLES)
        torch.cuda.synchronize()
        torch.cuda._sleep(CYCLES)

    timeline = grader.timeline(work)
    waits = [span for span in timeline.chart.host if span.on is not None]
    assert len(waits) == 1 and "synchronize" in waits[0].name
    assert timeline.chart.bars[1].start > waits[0].end - 1e-9


def test_the_text_form_is_a_table_and_the_picture_has_the_words():
    timeline = grader.timeline(lambda: torch.ones(8, device="cuda") + 1)
    assert "add" in repr(timeline)
    assert "modelled" in repr(timeline)
    assert "Critical path" in timeline.picture.alt


def test_a_notebook_shows_the_picture_and_its_words(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    grader.timeline(lambda: torch.ones(8, device="cuda") + 1)._ipython_display_()
    assert "image/png" in shown[0]
    assert "Critical path" in shown[1]["text/html"]


def test_the_profile_decides_what_the_gpu_claims_to_be_and_how_fast_it_is():
    program = (
        "import torch, grader\n"
        "x = torch.ones(1 << 24, device='cuda')\n"
        "print(torch.cuda.get_device_name(), grader.timeline(lambda: x + x).critical_path)"
    )

    def run(profile):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "GRADER_GPU": "sim", "GRADER_GPU_PROFILE": profile},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        *name, seconds = done.stdout.split()
        return " ".join(name), float(seconds)

    (fast, fast_seconds), (slow, slow_seconds) = run("h200"), run("t4")
    assert (fast, slow) == ("Simulated GPU (H200 profile)", "Simulated GPU (T4 profile)")
    assert slow_seconds > 5 * fast_seconds


def test_a_replay_is_one_call_of_the_host_and_all_of_its_kernels():
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x * 2 + 1
    chart = grader.timeline(graph.replay).chart
    assert [span.name for span in chart.host] == ["graph replay"]
    assert [(bar.name, bar.launch) for bar in chart.bars] == [("mul", chart.host[0]), ("add", chart.host[0])]


def test_a_run_does_not_race_with_the_warm_up():
    side, h = torch.cuda.Stream(), torch.zeros(4, device="cuda")

    def work():
        h.fill_(1.0)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            h.sum()  # the next fill_ does not wait for it

    torch.cuda.synchronize()
    with order.collect() as alone:
        work()
        torch.cuda.synchronize()
    with order.collect() as findings:
        grader.timeline(work)
    assert not alone and not findings


def test_a_tiny_kernel_takes_the_time_of_starting_it():
    x = torch.ones(1000, device="cuda")
    bars = grader.timeline(lambda: [x + 1 for _ in range(3)]).chart.bars
    assert all(1e-6 < bar.end - bar.start < 2e-6 for bar in bars)
    assert all(after.start >= before.end for before, after in zip(bars, bars[1:], strict=False))
