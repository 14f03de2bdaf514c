"""Rows that were measured with CUDA graphs, each beside the same graph of PyTorch on the simulated GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from .model_rows import Row
from .program_rows import BUSY, GELU, elapsed, gelu_eager, jit, on_two_streams


def replayed(body: Callable[[], object]) -> float:
    """Microseconds of one replay of the graph of body()."""
    body()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return elapsed(graph.replay) * 1e6


def all_rows() -> Iterator[Row]:
    for rows in (_gelu_by_size, _products, _compute_bound, _small):
        yield from rows()


def _gelu_by_size() -> Iterator[Row]:
    gelu = jit(GELU)
    for power, both in {10: (3.5, 13), 16: (3.7, 15), 20: (5.3, 25), 24: (60, 410)}.items():
        x, y = (torch.ones(1 << power, device="cuda") for _ in range(2))
        for kind, expected, body in zip(("jiterator", "eager"), both, (gelu, gelu_eager), strict=True):
            us = replayed(lambda body=body, x=x, y=y: body(x, y))
            yield f"gelu_tanh(x)+y, 2^{power}, graph replay, {kind}", "us", expected, us


def _products() -> Iterator[Row]:
    sizes = (64, 128, 256, 512, 1000, 1024)
    float32 = ((28, 16), (38, 21), (54, 37), (105, 79), (406, 376), (451, 394))
    tf32 = ((39, 22), (31, 18), (42, 23), (60, 33), (119, 101), (105, 95))
    for numbers, measured in (("float32", float32), ("tf32", tf32)):
        torch.backends.cuda.matmul.allow_tf32 = numbers == "tf32"
        for m, both in zip(sizes, measured, strict=True):
            a = torch.ones(m, m, device="cuda")
            bodies = (lambda a=a: [a @ a for _ in range(8)]), on_two_streams(lambda a=a: a @ a, 8)
            for streams, expected, body in zip((1, 2), both, bodies, strict=True):
                what = f"8 products, {numbers}, m={m}, graph replay, {streams} stream(s)"
                yield what, "us", expected, replayed(body)
    torch.backends.cuda.matmul.allow_tf32 = False


def _compute_bound() -> Iterator[Row]:
    busy = jit(BUSY)
    for power, both in {12: (70, 36), 16: (70, 37), 18: (71, 38)}.items():
        x = torch.ones(1 << power, device="cuda")
        bodies = (lambda x=x: [busy(x), busy(x)]), on_two_streams(lambda x=x: busy(x), 2)
        for streams, expected, body in zip((1, 2), both, bodies, strict=True):
            what = f"2 kernels, 2,000 multiply-adds, 2^{power}, graph replay, {streams} stream(s)"
            yield what, "us", expected, replayed(body)


def _small() -> Iterator[Row]:
    x = torch.ones(1024, device="cuda")

    def dependent() -> None:
        y = x
        for _ in range(50):
            y = y + 1

    yield "50 dependent ops on 1,024 elements, graph replay", "us", 57, replayed(dependent)
