"""Short names for programs about streams, and what makes the outcome of a race certain on a real GPU.

A spin kernel holds one stream back far longer than the host needs to queue the rest. Everything runs twice:
the first run loads kernels and fills the allocators' caches, both of which may wait for the device.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from numba import cuda

from .harness import D

NAP = 30_000_000  # cycles: 15 ms or more on any clock up to 2 GHz
N = 1 << 16
BIG = 3_000_000  # elements of 4 bytes: the allocator gives such a tensor a block of its own


def sync() -> None:
    torch.cuda.synchronize()


def current(device: Any = None) -> torch.cuda.Stream:
    return torch.cuda.current_stream(device)


def default(device: Any = None) -> torch.cuda.Stream:
    return torch.cuda.default_stream(device)


def on(stream: torch.cuda.Stream):
    """`with on(s):` makes `s` the current stream."""
    return torch.cuda.stream(stream)


def nap(times: int = 1) -> None:
    """Keep the current stream busy."""
    torch.cuda._sleep(times * NAP)


def settled(run: Callable[[], Any]) -> Any:
    """What the second of two runs gives."""
    run()
    sync()
    outcome = run()
    sync()
    return outcome


def full(value: float, n: int = N, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full((n,), value, dtype=dtype, device=D)


def ready(*fills: float) -> list[torch.Tensor]:
    """Tensors of these values, with nothing left to do on the device."""
    tensors = [full(v) for v in fills]
    sync()
    return tensors


def pinned(value: float, n: int = N) -> torch.Tensor:
    return torch.full((n,), value).pin_memory()


def values(t: torch.Tensor) -> list:
    """The distinct values in `t`, sorted; brought to the host by the current stream."""
    return t.detach().cpu().unique().tolist()


def nothing_cached() -> None:
    """From here on, the block freed last is the one that the next tensor of its size gets."""
    gc.collect()
    sync()
    torch.cuda.empty_cache()


def captured(function, **kwargs):
    """`function` run once on a side stream, then captured: the graph and what the capture returned."""
    s = torch.cuda.Stream()
    s.wait_stream(current())
    with on(s):
        function()
    current().wait_stream(s)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **kwargs):
        result = function()
    return graph, result


def numba_stream(stream: torch.cuda.Stream | None = None):
    """PyTorch's stream (by default the current one) as numba takes it at a launch."""
    return cuda.external_stream((stream or current()).cuda_stream)


def compiled(source: str, name: str = "k"):
    """The CUDA C++ kernel `name` of `source`."""
    return torch.cuda._compile_kernel(source, name)


def launch(kernel, grid, block, *args, **kwargs) -> None:
    """Run a kernel of `compiled` over a grid given as an int or up to three."""
    shapes = [(*(s if isinstance(s, tuple) else (s,)), 1, 1)[:3] for s in (grid, block)]
    kernel(grid=shapes[0], block=shapes[1], args=list(args), **kwargs)
