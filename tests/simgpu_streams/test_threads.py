"""Python threads share the device's streams and have each their own current one."""

import contextlib
import os
import signal
import threading

import pytest
import torch

from grader.simgpu import clock, streams, work

CUDA = torch.cuda


def in_threads(*targets):
    threads = [threading.Thread(target=t) for t in targets]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_threads_on_streams_of_their_own(findings):
    results = {}

    def work(i):
        stream = CUDA.Stream()
        with CUDA.stream(stream):
            x = torch.full((64,), float(i), device="cuda")
            for _ in range(50):
                x = x * 2 - i
            results[i] = x.sum().item()

    in_threads(*[lambda i=i: work(i) for i in range(6)])
    assert results == {i: 64.0 * i for i in range(6)} and not findings


def test_threads_share_the_default_stream(findings):
    x = torch.zeros(4, device="cuda")
    lives = CUDA.Stream()

    def work():
        for _ in range(100):
            x.add_(1)

    in_threads(work, work, work)
    assert x.tolist() == [300.0] * 4 and not findings
    del lives


def test_a_wait_in_one_thread_is_a_wait_of_the_host(side, findings):
    x = torch.zeros(4, device="cuda")
    side.wait_stream(CUDA.current_stream())

    def producer():
        with CUDA.stream(side):
            CUDA._sleep(10_000_000)
            x.fill_(1)
        side.synchronize()

    in_threads(producer)
    assert x.tolist() == [1.0] * 4 and not findings


def test_a_missing_wait_across_threads_is_found(side, findings):
    x = torch.zeros(4, device="cuda")
    side.wait_stream(CUDA.current_stream())

    def producer():
        with CUDA.stream(side):
            CUDA._sleep(10_000_000)
            x.fill_(1)

    in_threads(producer)
    assert (x + 0).tolist() == [0.0] * 4
    assert [f.kind for f in findings] == ["read_before_write"]


def test_events_pass_between_threads(findings):
    x, event, recorded = torch.zeros(4, device="cuda"), CUDA.Event(), threading.Event()
    CUDA.synchronize()

    def producer():
        with CUDA.stream(CUDA.Stream()):
            x.fill_(1)
            event.record()
        recorded.set()

    def consumer():
        recorded.wait(60)
        with CUDA.stream(CUDA.Stream()):
            event.wait()
            x.add_(1)
            assert x.tolist() == [2.0] * 4

    in_threads(producer, consumer)
    assert x.tolist() == [2.0] * 4 and not findings


def test_backward_in_a_thread(side, findings):
    w = torch.ones(4, device="cuda", requires_grad=True)
    side.wait_stream(CUDA.current_stream())

    def work():
        with CUDA.stream(side):
            (w * w).sum().backward()
        side.synchronize()

    in_threads(work)
    assert w.grad.tolist() == [2.0] * 4 and not findings


@contextlib.contextmanager
def endless_work(reads):
    """Another thread's work that reads the tensor and does not end before the block does."""
    runs, enough = threading.Event(), threading.Event()
    piece = work.Work(
        "endless", "torch", streams.current(), reads=(work.Access.of(reads),), cost=clock.Cost(1e-6)
    )

    def body():
        runs.set()
        enough.wait(60)

    thread = threading.Thread(target=work.run, args=(piece, body))
    thread.start()
    assert runs.wait(60)
    try:
        yield enough
    finally:
        enough.set()
        thread.join()


def test_endless_work_of_another_thread_is_in_nobodys_way(side):
    x, y = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")
    with endless_work(reads=x):
        y.add_(x)
        assert y.tolist() == [2.0] * 4
        with CUDA.stream(side):
            z = torch.ones(4, device="cuda") * 3
        CUDA.synchronize()
        assert z.tolist() == [3.0] * 4


def test_who_has_to_wait_for_another_threads_work_can_be_interrupted(side):
    x = torch.ones(4, device="cuda")
    with endless_work(reads=x) as enough:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            x.add_(1)
        timer = threading.Timer(0.2, enough.set)
        timer.start()
        x.add_(1)
        assert enough.is_set()
    assert x.tolist() == [2.0] * 4
