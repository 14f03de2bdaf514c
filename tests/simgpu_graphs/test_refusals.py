"""What may not be captured, in CUDA's words; afterwards the device works as before."""

import contextlib

import pytest
import torch

from tests.simgpu_graphs.capturing import D, capture, current, full

NOT_PERMITTED = "operation not permitted when stream is capturing"
CAPTURED_EVENT = "operation not permitted on an event last recorded in a capturing stream"


@contextlib.contextmanager
def spoilt(graph):
    """A capture whose end says that it went wrong before."""
    previous = pytest.raises(torch.AcceleratorError, match="due to a previous error during capture")
    with previous, torch.cuda.graph(graph):
        yield


def outside_event():
    event = torch.cuda.Event()
    event.record()
    return event


def recorded():
    event = torch.cuda.Event()
    event.record()
    return event


REFUSED = {
    "item": (NOT_PERMITTED, lambda x, h, p: x[0].item()),
    "branch": (NOT_PERMITTED, lambda x, h, p: 1 if x.sum() > 0 else 2),
    "tolist": (NOT_PERMITTED, lambda x, h, p: x.tolist()),
    "print": (NOT_PERMITTED, lambda x, h, p: repr(x)),
    "cpu": (NOT_PERMITTED, lambda x, h, p: x.cpu()),
    "equal": (NOT_PERMITTED, lambda x, h, p: torch.equal(x, x)),
    "nonzero": (NOT_PERMITTED, lambda x, h, p: x.nonzero()),
    "mask": (NOT_PERMITTED, lambda x, h, p: x[x > 0]),
    "device synchronize": (NOT_PERMITTED, lambda x, h, p: torch.cuda.synchronize()),
    "stream synchronize": (NOT_PERMITTED, lambda x, h, p: current().synchronize()),
    "stream query": (NOT_PERMITTED, lambda x, h, p: current().query()),
    "upload from pageable memory": (NOT_PERMITTED, lambda x, h, p: x.copy_(h)),
    "the same, non_blocking": (NOT_PERMITTED, lambda x, h, p: x.copy_(h, non_blocking=True)),
    "upload that blocks": (NOT_PERMITTED, lambda x, h, p: x.copy_(p)),
    "download to pageable memory": (NOT_PERMITTED, lambda x, h, p: h.copy_(x, non_blocking=True)),
    "download that blocks": (NOT_PERMITTED, lambda x, h, p: p.copy_(x)),
    "a tensor from a list": (NOT_PERMITTED, lambda x, h, p: torch.tensor([1.0, 2.0], device=D)),
    "event synchronize": (CAPTURED_EVENT, lambda x, h, p: recorded().synchronize()),
    "event query": (CAPTURED_EVENT, lambda x, h, p: recorded().query()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    said, operation = REFUSED[name]
    x, pageable, pinned = full(1), torch.ones(4), torch.ones(4).pin_memory()
    graph, inner = torch.cuda.CUDAGraph(), None
    with spoilt(graph):
        try:
            operation(x, pageable, pinned)
        except torch.AcceleratorError as error:
            inner = error
    assert str(inner).startswith(f"CUDA error: {said}\nSearch for `cudaError")
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert not torch.cuda.is_current_stream_capturing() and (x + 1).tolist() == [2] * 4


def test_after_a_refusal_nothing_more_is_captured():
    x, graph = full(1), torch.cuda.CUDAGraph()
    with spoilt(graph):
        with pytest.raises(torch.AcceleratorError):
            x.sum().item()
        with pytest.raises(torch.AcceleratorError, match="due to a previous error during capture"):
            x.add_(1)
    assert x.tolist() == [1] * 4


def test_an_event_from_outside_cannot_be_waited_for():
    event, graph = outside_event(), torch.cuda.CUDAGraph()
    with spoilt(graph), pytest.raises(torch.AcceleratorError, match="dependency created on uncaptured work"):
        current().wait_event(event)


def test_an_event_of_a_capture_means_nothing_outside():
    x, event = full(1), torch.cuda.Event()
    graph, _ = capture(lambda: (x.add_(1), event.record()), warm=False)
    for use in (event.synchronize, event.query, event.wait):
        with pytest.raises(torch.AcceleratorError, match=CAPTURED_EVENT):
            use()
    graph.replay()
    event.record()
    event.synchronize()
    assert x.tolist() == [2] * 4


def test_a_stream_that_was_not_joined_again():
    x, s, graph = full(1), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with pytest.raises(torch.AcceleratorError, match="has unjoined work"), torch.cuda.graph(graph):
        s.wait_stream(current())
        with torch.cuda.stream(s):
            x.add_(1)
    assert not s.is_capturing() and x.tolist() == [1] * 4


def test_a_fork_without_work_needs_no_join():
    x, s, graph = full(1), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        s.wait_stream(current())
        y = x + 1
    graph.replay()
    assert y.tolist() == [2] * 4 and not s.is_capturing()


def test_another_event_may_be_asked_in_a_relaxed_capture_only():
    event, x = outside_event(), full(1)
    graph, _ = capture(lambda: (event.query(), x + 1), warm=False, capture_error_mode="relaxed")
    graph.replay()
    with spoilt(torch.cuda.CUDAGraph()), pytest.raises(torch.AcceleratorError, match=NOT_PERMITTED):
        event.query()


def test_a_graph_is_captured_once_and_not_on_the_default_stream():
    x = full(1)
    graph, _ = capture(lambda: x.add_(1), warm=False)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other), pytest.raises(RuntimeError, match="already owns a captured graph"):
        graph.capture_begin()
    graph.reset()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    with torch.cuda.stream(torch.cuda.Stream()):
        with pytest.raises(RuntimeError, match="Unknown capture error mode"):
            graph.capture_begin(capture_error_mode="careless")
        graph.capture_begin()
        with torch.cuda.stream(other), pytest.raises(RuntimeError, match="must end on the same stream"):
            graph.capture_end()
        x.mul_(3)
        graph.capture_end()
    graph.replay()
    assert x.tolist() == [3] * 4


def test_an_optimizer_that_cannot_be_captured_says_so():
    p = torch.nn.Parameter(full(1))
    optimizer = torch.optim.Adam([p])
    p.grad = full(1)
    optimizer.step()
    with pytest.raises(RuntimeError, match="capturable is False"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        optimizer.step()


def test_an_empty_graph_is_warned_of():
    graph = torch.cuda.CUDAGraph()
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"), torch.cuda.graph(graph):
        pass
    graph.replay()


def test_a_graph_that_is_kept(tmp_path):
    x, graph = full(1), torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        y = x + 1
    assert isinstance(graph.raw_cuda_graph(), int)
    graph.instantiate()
    graph.replay()
    assert y.tolist() == [2] * 4
    with pytest.warns(UserWarning, match="cudaGraphDebugDotPrint"):
        graph.debug_dump(str(tmp_path / "graph.dot"))
    assert "add" in (tmp_path / "graph.dot").read_text()
    plain, _ = capture(lambda: x + 1, warm=False)
    with pytest.raises(RuntimeError, match="keep_graph=true"):
        plain.raw_cuda_graph()
    with pytest.raises(RuntimeError, match="only when keep_graph=true"):
        plain.instantiate()


def test_the_class_that_was_imported_before_the_simulated_gpu_was_on():
    from torch.cuda.graphs import CUDAGraph, graph

    x, g = full(1), CUDAGraph()
    with graph(g):
        x.add_(1)
    g.replay()
    assert x.tolist() == [2] * 4 and isinstance(g, torch.cuda.CUDAGraph)
