"""What a recording counts: launches and the bytes they move."""

import threading

import pytest
import torch

from grader import simgpu
from grader.simgpu import trace

D = "cuda"
N = 1000
X = lambda: torch.ones(N, device=D)  # noqa: E731


def launches(f):
    with simgpu.recording() as t:
        f()
    return [(e.name, e.bytes_read, e.bytes_written) for e in t.launches]


A = {"x": None}


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: x + x, [("add", 4 * N, 4 * N)]),
        (lambda x: x.add_(1), [("add_", 4 * N, 4 * N)]),
        (lambda x: torch.add(x, 1, out=x), [("add", 4 * N, 4 * N)]),
        (lambda x: torch.nn.functional.gelu(x, approximate="tanh"), [("gelu", 4 * N, 4 * N)]),
        (lambda x: x.half(), [("_to_copy", 4 * N, 2 * N)]),
        (lambda x: x[:1].expand(N) + 1, [("add", 4, 4 * N)]),
        (lambda x: x[::2] + 1, [("add", 2 * N, 2 * N)]),
        (lambda x: x * torch.tensor(2.0), [("mul", 4 * N, 4 * N)]),
        (lambda x: x.fill_(3), [("fill_", 0, 4 * N)]),
        (lambda x: x.clone(), [("clone", 4 * N, 4 * N)]),
        (lambda x: torch.zeros(N, device=D), [("zeros", 0, 4 * N)]),
        (lambda x: torch.rand(N, device=D), [("rand", 0, 4 * N)]),
        (lambda x: x * 2 + 1, [("mul", 4 * N, 4 * N), ("add", 4 * N, 4 * N)]),
        (lambda x: x.copy_(x + 1), [("add", 4 * N, 4 * N), ("copy_", 4 * N, 4 * N)]),
    ],
)
def test_kernels_are_counted(f, expected):
    x = X()
    assert launches(lambda: f(x)) == expected


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.view(10, 100).t()[1:],
        lambda x: x.shape,
        lambda x: x[0].item(),
        lambda x: x.cpu(),
        lambda x: x.contiguous(),
        lambda x: torch.ones(5).cuda(),
        lambda x: x.copy_(torch.ones(N)),
        lambda x: torch.empty(5, device=D),
        lambda x: x.float(),
        lambda x: x.tolist(),
        lambda x: torch.ones(5) + 1,
        lambda x: x.detach(),
        lambda x: repr(x.shape),
    ],
)
def test_what_runs_no_kernel_is_not_counted(f):
    x = X()
    assert launches(lambda: f(x)) == []


def test_backward_is_counted_once_each():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    w = torch.ones(N, device=D, requires_grad=True)
    names = [name for name, *_ in launches(lambda: Twice.apply(w).backward(torch.ones(N, device=D)))]
    assert names == ["mul", "ones", "mul"]


def test_totals():
    x = X()
    with simgpu.recording() as t:
        x + x
        x.sum()
    assert (t.bytes_read, t.bytes_written) == (8 * N, 4 * N + 4)
    assert [e.kind for e in t.launches] == ["torch", "torch"]
    assert t.launches[0].numel == N and t.compiles == t.creates == []


def test_recordings_nest_and_see_all_threads():
    x = X()
    with simgpu.recording() as outer:
        x + 1
        with simgpu.recording() as inner:
            thread = threading.Thread(target=lambda: x * 2)
            thread.start()
            thread.join()
    assert [e.name for e in outer.launches] == ["add", "mul"]
    assert [e.name for e in inner.launches] == ["mul"]
    x + 1
    assert len(outer.launches) == 2


def test_the_innermost_recording_is_the_one_closed():
    with simgpu.recording():
        with simgpu.recording(fresh=True) as inner:
            assert trace.current() is inner and inner.fresh
        assert not trace.current().fresh
    assert not trace.active()


def test_nothing_is_kept_when_nobody_records():
    X() + 1
    assert trace.current() is None
