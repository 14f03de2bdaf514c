"""Capturing in tests: as the lessons do it, warmed up on a side stream first."""

import torch

D = "cuda"


def full(value, n=4):
    return torch.full((n,), float(value), device=D)


def current():
    return torch.cuda.current_stream()


def warmed(f, times=1):
    side = torch.cuda.Stream()
    side.wait_stream(current())
    with torch.cuda.stream(side):
        for _ in range(times):
            f()
    current().wait_stream(side)


def capture(f, warm=True, **kwargs):
    """The graph of f(), and what f returned in the capture."""
    if warm:
        warmed(f)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **kwargs):
        result = f()
    return graph, result
