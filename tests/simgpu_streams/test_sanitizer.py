"""PyTorch's sanitizer of streams, and the trace of CUDA's calls that it listens to."""

import gc
import os
import subprocess
import sys

import pytest
import torch
from torch.cuda import _gpu_trace

D = "cuda"
HEARD = (
    "EventCreation", "EventDeletion", "EventRecord", "EventWait", "StreamCreation", "DeviceSynchronization",
    "StreamSynchronization", "EventSynchronization", "MemoryDeallocation",
)  # fmt: skip


@pytest.fixture
def calls():
    """What listeners are told while the test runs."""
    heard = []
    registries = {name: getattr(_gpu_trace, f"{name}Callbacks") for name in HEARD}
    for name, registry in registries.items():
        registry.add_callback(lambda *what, name=name: heard.append((name, *what)))
    yield heard
    for registry in registries.values():
        registry.callback_list.pop()


def test_events(calls):
    s = torch.cuda.Stream()
    calls.clear()
    e = torch.cuda.Event()
    assert calls == []  # CUDA makes it when it is first recorded
    e.record()
    number = e.cuda_event
    e.record()
    s.wait_event(e)
    e.synchronize()
    del e
    gc.collect()
    assert calls == [
        ("EventCreation", number), ("EventRecord", number, 0), ("EventRecord", number, 0),
        ("EventWait", number, s.cuda_stream), ("EventSynchronization", number), ("EventDeletion", number),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [torch.cuda.Stream, lambda: torch.Stream(device=D)])
def test_streams_that_wait_for_each_other(calls, kind):
    s = kind()
    calls.clear()
    s.wait_stream(torch.cuda.current_stream())
    (record, wait) = [c for c in calls if c[0] in ("EventRecord", "EventWait")]
    assert record[1] == wait[1] and record[2] == 0 and wait[2] == s.native_handle


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (torch.cuda.synchronize, [("DeviceSynchronization",)]),
        (lambda: torch.cuda.current_stream().synchronize(), [("StreamSynchronization", 0)]),
        (lambda: torch.ones(2).to(D), [("StreamSynchronization", 0)]),
    ],
)
def test_the_host_waits(calls, wait, said):
    with torch.cuda.stream(torch.cuda.Stream()):
        pass
    s = torch.cuda.Stream()  # while it lives, all work is followed
    calls.clear()
    wait()
    assert [c for c in calls if "Synchronization" in c[0]] == said
    del s


def test_freed_memory(calls):
    x = torch.ones(3, device=D)
    pointer = x.data_ptr()
    del x
    gc.collect()
    torch.ones(3, device=D)  # before it gets memory, what died is looked at
    assert ("MemoryDeallocation", pointer) in calls


PROGRAMS = {
    "no wait for a side stream": ("x = ones(); s.wait_stream(cur()); on(s, x.mul_, 2); y = x + 1", True),
    "no wait for a fresh result": ("x = ones(); on(s, x.add, 1)", True),
    "a wait for an event": ("x = ones(); e = cur().record_event(); s.wait_event(e); on(s, x.add, 1)", False),
    "an event that was recorded too early": (
        "e = cur().record_event(); x = ones(); s.wait_event(e); on(s, x.add, 1)",
        True,
    ),
    "synchronised by the host": ("x = ones(); torch.cuda.synchronize(); on(s, x.add, 1)", False),
    "a stream that the host waited for": ("x = ones(); cur().synchronize(); on(s, x.add, 1)", False),
    "an event that the host waited for": (
        "x = ones(); e = cur().record_event(); e.synchronize(); on(s, x.add, 1)",
        False,
    ),
    "a number brought to the host": ("x = ones(); x.sum().item(); on(s, x.add, 1)", False),
    "two readers": ("x = ones(); s.wait_stream(cur()); on(s, x.add, 1); y = x * 2", False),
    "a writer beside a reader": ("x = ones(); s.wait_stream(cur()); on(s, x.add, 1); x.zero_()", True),
    "memory used again": ("for _ in range(50): x = ones(); s.wait_stream(cur()); on(s, x.add, 1)", False),
    "a model, forward and backward": (
        "m = torch.nn.Linear(8, 8).to(D); s.wait_stream(cur()); "
        "y = on(s, m, torch.ones(4, 8).to(D)); cur().wait_stream(s); y.sum().backward()",
        False,
    ),
}  # fmt: skip


def test_what_the_sanitizer_finds():
    """All in one process of its own: there is no way back from having imported the sanitizer."""
    lines = [
        "import warnings; warnings.simplefilter('ignore')",
        "import torch; from grader import simgpu; simgpu.activate('sim')",
        "from torch.cuda import _sanitizer; _sanitizer.enable_cuda_sanitizer()",
        "D, N, cur = 'cuda', 1000, torch.cuda.current_stream",
        "def ones(): return torch.ones(N, device=D)",
        "def on(s, f, *args):",
        "    with torch.cuda.stream(s): return f(*args)",
        "def found(text):",
        "    try: exec(text, dict(globals(), s=torch.cuda.Stream()))",
        "    except _sanitizer.CUDASanitizerErrors: return True",
        "    finally: torch.cuda.synchronize()",
        "    return False",
        f"print([found(text) for text in {[text for text, _ in PROGRAMS.values()]!r}])",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=os.environ | {"GRADER_GPU": "sim"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(zip(PROGRAMS, eval(done.stdout), strict=True))
    assert found == {name: races for name, (_, races) in PROGRAMS.items()}
