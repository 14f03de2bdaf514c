"""What a capture leaves behind: nothing has run, and the graph knows addresses and Python's numbers."""

import gc
import weakref

import numpy as np
import pytest
import torch

from grader import simgpu
from grader.simgpu import work
from tests.simgpu_graphs.capturing import D, capture, current, full

pytestmark = pytest.mark.usefixtures("quiet")


def test_a_capture_runs_nothing():
    x, out, pinned = full(2), full(-1), torch.full((4,), -1.0).pin_memory()

    def f():
        x.add_(1)
        torch.mul(x, 10, out=out)
        pinned.copy_(out, non_blocking=True)
        return x + 1, x > 0

    graph, (y, positive) = capture(f, warm=False)
    assert x.tolist() == [2] * 4 and out.tolist() == [-1] * 4 and pinned.tolist() == [-1] * 4
    assert not torch.equal(y, full(4)) and positive.dtype is torch.bool
    graph.replay()
    torch.cuda.synchronize()
    assert x.tolist() == [3] * 4 and out.tolist() == [30] * 4 == pinned.tolist()
    assert y.tolist() == [4] * 4 and positive.all()


def test_a_replay_reads_addresses_and_the_numbers_of_the_capture():
    x, factor, box = full(1), 10, [full(1)]
    graph, y = capture(lambda: x * factor + box[0])
    kept, box[0] = box[0], full(1000)
    factor = 0
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [21] * 4 and kept.tolist() == [1] * 4


def test_many_outputs_views_and_layouts():
    x = torch.arange(6.0, device=D).view(2, 3)
    graph, outputs = capture(lambda: (x.sum(0), *x.max(1), x.t() * 2, x[:, 1:].contiguous(), x.half().sin()))
    x.neg_().add_(1)
    graph.replay()
    expected = (x.sum(0), *x.max(1), x.t() * 2, x[:, 1:].contiguous(), x.half().sin())
    for ours, theirs in zip(outputs, expected, strict=True):
        assert torch.equal(ours, theirs) and ours.stride() == theirs.stride() and ours.is_cuda


def test_indices_are_read_at_the_replay():
    table, x = torch.rand(10, 4, device=D), torch.tensor([1.0, 2.0, 3.0], device=D)
    graph, rows = capture(lambda: torch.nn.functional.embedding((x * 2).long(), table))
    x.copy_(torch.tensor([0.0, 4.0, 1.0]))
    graph.replay()
    assert torch.equal(rows, table[[0, 8, 2]])


def test_forked_streams_joined_by_events():
    x, s, t = full(1), torch.cuda.Stream(), torch.cuda.Stream()

    def f():
        a = x * 2
        ready, done = torch.cuda.Event(), torch.cuda.Event()
        ready.record()
        with torch.cuda.stream(s):
            s.wait_event(ready)
            b = a * 10
            assert torch.cuda.is_current_stream_capturing()
        t.wait_stream(s)
        with torch.cuda.stream(t):
            c = b + 1
            done.record()
        d = a + 3
        current().wait_event(done)
        return c + d

    graph, y = capture(f, warm=False)
    assert not s.is_capturing()
    for value in (1, 2, 5):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [22.0 * value + 4] * 4


def test_the_memory_that_a_capture_made_stays_the_graphs():
    x = full(1, 1000)
    graph, y = capture(lambda: (x * 2) * 3)
    others = [full(-7, 1000) for _ in range(20)]
    pointer = y.data_ptr()
    graph.replay()
    assert torch.equal(y, full(6, 1000)) and all((o == -7).all() for o in others)
    del y
    assert pointer not in [full(0, 1000).data_ptr() for _ in range(20)]


def test_work_is_not_followed_for_ever_because_of_a_capture():
    x = full(1)
    graph, y = capture(lambda: x * 2, warm=False)
    graph.replay()
    assert work.tracking()  # until the host has waited
    torch.cuda.synchronize()
    gc.collect()
    assert not work.tracking()


def test_a_graph_that_is_gone_gives_its_memory_back():
    x = full(1)
    graph, y = capture(lambda: x * 2)
    before, storage = torch.cuda.memory_allocated(), weakref.ref(y.untyped_storage())
    del y
    assert storage() is not None
    del graph
    gc.collect()
    assert torch.cuda.memory_allocated() < before and storage() is None


def test_graphs_that_share_a_pool():
    x = full(3)
    graph, y = capture(lambda: x + 1)
    second, z = capture(lambda: y * 2, pool=graph.pool())
    third, w = capture(lambda: z + 0.5, pool=torch.cuda.graph_pool_handle())
    assert graph.pool() == second.pool() != third.pool() and type(graph.pool()) is tuple
    x.fill_(4)
    for g in (graph, second, third):
        g.replay()
    assert w.tolist() == [10.5] * 4


def test_a_graph_inside_a_graph():
    x = full(1)
    inner, _ = capture(lambda: x.add_(1), warm=False)

    def f():
        inner.replay()
        y = x * 10
        inner.replay()
        return y

    outer, y = capture(f, warm=False)
    outer.replay()
    assert x.tolist() == [3] * 4 and y.tolist() == [20] * 4


def test_kernels_of_the_jiterator():
    scale = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T f(T x, T a) { return x * a; }", a=1.0
    )
    x = full(1)
    graph, y = capture(lambda: scale(x, a=2.5) + 1)
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [11] * 4


def test_kernels_of_numba():
    cuda = pytest.importorskip("numba.cuda")

    @cuda.jit
    def increment(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    x = full(0, 100)
    view = cuda.as_cuda_array(x)
    increment[1, 128](view)

    def f():
        increment[1, 128, cuda.external_stream(current().cuda_stream)](view)
        x.mul_(2)

    graph, _ = capture(f, warm=False)
    x.zero_()
    graph.replay()
    graph.replay()
    assert np.unique(x.cpu().numpy()).tolist() == [6]


def test_kernels_of_cuda_cpp():
    source = (
        'extern "C" __global__ void twice(float* x, int n) '
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }"
    )
    twice, x = torch.cuda._compile_kernel(source, "twice"), full(1, 100)

    def f():
        twice(grid=(1, 1, 1), block=(128, 1, 1), args=[x, 100])
        return x + 1

    graph, y = capture(f, warm=False)
    assert (x == 1).all()
    graph.replay()
    graph.replay()
    assert (x == 4).all() and (y == 5).all()


def test_compiled_functions():
    f, x = torch.compile(lambda x: (x * 2 + 1).sin()), full(1)
    f(x)
    graph, y = capture(lambda: f(x), warm=False)
    x.fill_(3)
    graph.replay()
    torch.testing.assert_close(y, (x * 2 + 1).sin())


def test_copies_of_pinned_memory():
    x, source, target = full(0), torch.ones(4).pin_memory(), torch.zeros(4).pin_memory()

    def f():
        x.copy_(source, non_blocking=True)
        x.mul_(3)
        target.copy_(x, non_blocking=True)

    graph, _ = capture(f, warm=False)
    for value in (5, 6):
        source.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert target.tolist() == [3 * value] * 4


def test_work_on_other_streams_runs_while_one_captures():
    x, graph = full(1), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        with torch.cuda.stream(torch.cuda.default_stream()):
            x.add_(1)
    assert x.tolist() == [2] * 4
    graph.replay()
    assert y.tolist() == [4] * 4 and x.tolist() == [2] * 4


def test_an_exception_of_python_ends_the_capture_and_keeps_what_was_captured():
    x, graph = full(1), torch.cuda.CUDAGraph()
    with pytest.raises(KeyError, match="mine"), torch.cuda.graph(graph):
        x.add_(1)
        raise KeyError("mine")
    assert not torch.cuda.is_current_stream_capturing()
    graph.replay()
    assert x.tolist() == [2] * 4


def test_recordings_hear_of_kernels_when_they_run():
    x, graph = full(1, 1000), torch.cuda.CUDAGraph()
    with simgpu.recording() as trace, torch.cuda.graph(graph):
        y = (x * 2 + 1).sum()
    assert not trace.launches
    with simgpu.recording() as trace:
        graph.replay()
    sizes = [(t.name, t.bytes_read, t.bytes_written) for t in trace.launches]
    assert sizes == [("mul", 4000, 4000), ("add", 4000, 4000), ("sum", 4000, 4)] and y.item() == 3000
