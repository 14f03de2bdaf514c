"""However a kernel ends, the process goes on, and the next launch is as good as the first."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from grader.simgpu.grid import abi
from grader.simgpu.native import libraries


@pytest.fixture(autouse=True)
def _the_next_launch_is_good(launch, floats):
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGFPE, signal.SIGSEGV)}
    yield
    assert {s: signal.getsignal(s) for s in handlers} == handlers
    x, sums = floats(128), floats(2)
    x[:] = 1
    result = launch("block_sum", 2, 64, [x, sums], mode=abi.FIBERS, shared_bytes=256)
    assert (sums.tolist(), result.report.n_findings) == ([64.0, 64.0], 0)


@pytest.mark.parametrize(
    ("kernel", "mode"),
    [
        ("forever", abi.LOOP),
        ("forever", abi.FIBERS),
        ("forever_behind_a_barrier", abi.FIBERS),
        ("one_never_comes", abi.FIBERS),
        ("barriers_forever", abi.FIBERS),
        ("forever", abi.COOPERATIVE),
    ],
)
def test_an_interrupt_ends_it(launch, kernel, mode):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    assert launch(kernel, 2, 64, mode=mode).report.outcome == abi.INTERRUPTED
    timer.join()


def test_an_interrupt_tells_which_thread_ran(launch):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    report = launch("one_never_comes", 1, 64, mode=abi.FIBERS).report
    assert list(report.where.thread) == [3, 0, 0]


def test_a_launch_of_another_thread_is_stopped(launch):
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(launch("forever", 1, 1).report.outcome))
    thread.start()
    while not libraries.stop_all():
        time.sleep(0.01)
    thread.join()
    assert outcomes == [abi.INTERRUPTED]


def test_launches_of_several_threads_take_turns(launch, floats):
    wrong = []

    def work():
        x, sums = floats(512), floats(8)
        for k in range(20):
            x[:] = k
            result = launch("block_sum", 8, 64, [x, sums], mode=abi.FIBERS, shared_bytes=256)
            if set(sums) != {64 * k} or result.report.n_findings:
                wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("kernel", "mode"),
    [("recursion", abi.LOOP), ("recursion", abi.FIBERS), ("recursion_behind_a_barrier", abi.FIBERS)],
)
def test_recursion_without_end(launch, kernel, mode):
    assert launch(kernel, 1, 64, mode=mode).report.outcome == abi.STACK_OVERFLOW


@pytest.mark.parametrize(
    ("kernel", "mode"), [("divides", abi.LOOP), ("divides_behind_a_barrier", abi.FIBERS)]
)
def test_integer_division_as_on_a_gpu(launch, floats, kernel, mode):
    x = floats(2)
    assert launch(kernel, 1, 8, [x], mode=mode).report.outcome == abi.OK
    assert x.view(np.int32).tolist() == [-1, -(2**31)]


@pytest.mark.parametrize(("kernel", "mode"), [("status", abi.LOOP), ("status_behind_a_barrier", abi.FIBERS)])
def test_a_status_ends_the_launch(launch, kernel, mode):
    report = launch(kernel, 4, 128, mode=mode).report
    assert (report.outcome, report.status) == (abi.STATUS, 7)
    assert (list(report.where.block), list(report.where.thread)) == ([2, 0, 0], [44, 0, 0])


@pytest.mark.parametrize("mode", [abi.LOOP, abi.FIBERS])
def test_a_kernel_reports_a_failure(launch, mode):
    r = launch("fails", 4, 128, mode=mode).report
    assert (r.outcome, r.kind, r.site, r.index, r.length, r.axis) == (abi.FAILED, 1, 2, 3, 4, 5)
    assert list(r.where.thread) == [44, 0, 0]


@pytest.mark.parametrize("also", [0, abi.TRACK])
def test_bounds_and_alignment_are_checked_when_asked(launch, floats, also):
    x = floats(100)
    r = launch("beyond", 2, 64, [x], flags=abi.BOUNDS | also).report
    assert (r.outcome, r.address, r.size, r.write, r.site) == (
        abi.OUT_OF_BOUNDS,
        x.ctypes.data + 400,
        4,
        1,
        9,
    )
    assert (list(r.where.block), list(r.where.thread)) == ([1, 0, 0], [36, 0, 0])
    r = launch("crooked", 1, 1, [x], flags=abi.BOUNDS | also).report
    assert (r.outcome, r.size, r.address - x.ctypes.data) == (abi.MISALIGNED, 16, 4)
    assert launch("crooked", 1, 1, [x], flags=0).report.outcome == abi.OK


def test_a_thousand_million_threads_need_no_more_memory(launch, floats):
    x = floats(1)
    launch("all_read_one", 1000, 1000, [x])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    result = launch("all_read_one", 1_000_000, 1000, [x])
    assert result.report.outcome == abi.INTERRUPTED
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_memory_of_large_launches_is_given_back(launch, floats):
    x, y = floats(4_000_000), floats(4_000_000)
    peaks = []
    for _ in range(6):
        launch("add", 15625, 256, [x, y])
        with open("/proc/self/statm", encoding="ascii") as file:
            peaks.append(int(file.read().split()[1]) * resource.getpagesize())
    assert max(peaks) < peaks[0] + (320 << 20)


def test_a_failing_launch_in_a_process_of_its_own(tmp_path):
    """The interrupt also reaches a launch when Python's main thread waits in it, as in a notebook."""
    code = """
import os, signal, threading, torch
from grader import simgpu
simgpu.activate()
text = "__global__ void k(int* x) { while (*(volatile int*)x == 0) { } }"
k = torch.cuda._compile_kernel(text, "k")
x = torch.zeros(1, dtype=torch.int32, device="cuda")
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    k(args=[x])
except KeyboardInterrupt:
    print("interrupted", int(x))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "interrupted 0", done.stderr


def test_the_structs_are_those_of_the_header(kernels):
    """A field that only one side knows shifts all that follow."""
    assert ctypes.sizeof(abi.Finding) == 2 * 4 + 8 + 4 * 4 + 2 * 8 + 2 * 24
    assert ctypes.sizeof(abi.Report) == 6 * 4 + 4 * 8 + 24 + 16 + abi.MAX_FINDINGS * ctypes.sizeof(
        abi.Finding
    )
