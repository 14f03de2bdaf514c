"""Kernels that never end, overflow the stack or trap: an error, and the process goes on as before."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time

import pytest
import torch

from grader import simgpu
from grader.simgpu import jiterator

create = torch.cuda.jiterator._create_jit_fn

FOREVER = "template <typename T> T f(T x) { while (x > T(0)) { } return x; }"
OVERFLOW = "template <typename T> T f(T x) { return f<T>(x + T(1)) + x; }"
PLUS_ONE = create("template <typename T> T g(T x) { return x + T(1); }")


def healthy():
    for n in (2, 200_000):
        assert PLUS_ONE(torch.ones(n, device="cuda")).unique().tolist() == [2.0]


@pytest.fixture(autouse=True)
def _healthy_afterwards(request):
    handlers = {
        s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGFPE, signal.SIGSEGV, signal.SIGUSR2)
    }
    yield
    assert {s: signal.getsignal(s) for s in handlers} == handlers
    if "another_device" not in request.fixturenames:
        healthy()


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("n", [3, 200_000])
def test_an_endless_loop_is_interrupted(n):
    kernel, x = create(FOREVER), torch.ones(n, device="cuda")
    kernel(x - 1)  # compiled
    interrupt_after(0.3)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel(x)
    assert time.monotonic() - start < 20


def test_an_endless_loop_among_the_last_elements():
    kernel, x = create(FOREVER), torch.zeros(200_000, device="cuda")
    x[-1] = 1
    interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        kernel(x)


def test_an_endless_loop_that_prints(capfd):
    kernel = create('template <typename T> T f(T x) { while (x > T(0)) printf("on and on\\n"); return x; }')
    kernel(torch.zeros(2, device="cuda"))
    interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        kernel(torch.ones(2, device="cuda"))
    assert capfd.readouterr().out.startswith("on and on\n")


def test_an_endless_loop_of_another_thread_is_stopped():
    kernel, x, seen = create(FOREVER), torch.ones(200_000, device="cuda"), []
    kernel(x - 1)

    def call():
        try:
            kernel(x)
        except RuntimeError as e:
            seen.append(str(e))

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.3)
    assert PLUS_ONE(torch.ones(200_000, device="cuda")).sum().item() == 400_000  # others can work meanwhile
    while thread.is_alive():
        jiterator.stop()
        thread.join(0.05)
    assert seen == ["the kernel 'f' was stopped"]


@pytest.mark.parametrize("n", [2, 200_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_endless_recursion(n, dtype):
    with pytest.raises(RuntimeError, match="the kernel 'f' ran out of stack"):
        create(OVERFLOW)(torch.ones(n, dtype=dtype, device="cuda"))


def test_endless_recursion_in_a_thread():
    seen = []

    def call():
        try:
            create(OVERFLOW)(torch.ones(2, device="cuda"))
        except RuntimeError as e:
            seen.append(str(e))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(seen) == 1 and "ran out of stack" in seen[0]


def test_tail_recursion_without_end_is_no_endless_loop():
    with pytest.raises(RuntimeError, match="ran out of stack"):
        create("template <typename T> T f(T x) { return x < T(0) ? x : f<T>(x); }")(
            torch.ones(2, device="cuda")
        )


def test_a_wild_pointer():
    code = "template <typename T> T f(T x) { T* p = (T*)(int64_t)(x * T(8)); return *p; }"
    with pytest.raises(torch.AcceleratorError, match="illegal memory access"):
        create(code)(torch.ones(2, device="cuda"))


def test_a_missing_return():
    code = "template <typename T> T f(T x) { if (x > T(0)) return x; }"
    assert create(code)(torch.ones(2, device="cuda")).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="reached the end of a function that must return a value"):
        create(code)(torch.zeros(2, device="cuda"))


def test_a_result_that_is_not_written_stands_out():
    kernel = torch.cuda.jiterator._create_multi_output_jit_fn(
        "template <typename T> void f(T x, T& a) { if (x > T(0)) a = x; }", 1
    )
    got = kernel(torch.tensor([1.0, -1.0], device="cuda")).tolist()
    assert got[0] == 1.0 and got[1] != got[1]


@pytest.fixture
def another_device():
    yield
    simgpu.deactivate()
    simgpu.activate()


def test_a_trap_ends_the_device_but_not_the_process(another_device):
    kernel = create("template <typename T> T f(T x) { if (x > T(1)) __trap(); return x; }")
    x = torch.arange(4.0, device="cuda")
    got = kernel(x)
    assert list(got.shape) == [4]
    with pytest.raises(torch.AcceleratorError, match="^CUDA error: unspecified launch failure"):
        torch.cuda.synchronize()
    with pytest.raises(torch.AcceleratorError):
        x + 1
    with pytest.raises(torch.AcceleratorError):
        kernel(x)


def test_faults_outside_kernels_still_reach_their_handlers(tmp_path):
    """faulthandler, which Jupyter switches on, keeps its handlers through a launch."""
    with open(tmp_path / "log", "w") as log:
        faulthandler.enable(log)
        try:
            healthy()
            with pytest.raises(RuntimeError):
                create(OVERFLOW)(torch.ones(2, device="cuda"))
            assert faulthandler.is_enabled()
        finally:
            faulthandler.disable()
    assert (tmp_path / "log").read_text() == ""


def test_after_a_fork():
    """The workers do not exist in the child: it starts its own."""
    x = torch.ones(200_000, device="cuda")
    PLUS_ONE(x)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        ok = PLUS_ONE(x)[-1].item() == 2.0
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_many_threads_at_once():
    results = []

    def call(k):
        kernel = create(f"template <typename T> T f(T x) {{ return x + T({k % 3}); }}")
        results.append(kernel(torch.ones(100_000, device="cuda")).sum().item() == 100_000 * (1 + k % 3))

    threads = [threading.Thread(target=call, args=(k,)) for k in range(9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 9
