"""CUDA graphs on the simulated GPU: PyTorch's own `torch/cuda/graphs.py` over a base of ours."""

from __future__ import annotations

import functools
import importlib.util
import types
from typing import Any

import torch
import torch.cuda.graphs as original
import torch.optim.optimizer

from grader.simgpu import streams, trace
from grader.simgpu.graphs import base, pools
from grader.simgpu.streams import state

_NAMES = ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables")
_Optimizer = torch.optim.Optimizer


def _is_capturing() -> bool:
    return streams.current().capture is not None


@functools.cache
def _module() -> types.ModuleType:
    """`torch.cuda.graphs`, run again on the bases of the simulated device."""
    spec = importlib.util.find_spec(original.__name__)
    ours = importlib.util.module_from_spec(spec)
    bases = {
        "_CUDAGraph": base.CUDAGraph,
        "_graph_pool_handle": pools.new_handle,
        "_cuda_isCurrentStreamCapturing": _is_capturing,
    }
    before = {name: getattr(torch._C, name) for name in bases}
    try:
        for name, stand_in in bases.items():
            setattr(torch._C, name, stand_in)
        spec.loader.exec_module(ours)
    finally:
        for name, value in before.items():
            setattr(torch._C, name, value)
    ours.graph.__init__ = _letting_go(ours.graph)
    return ours


def _letting_go(graph: type) -> Any:
    """PyTorch keeps the stream of captures that are given none. Nobody else has it: no work need be followed
    because of it.
    """
    initialise = graph.__init__

    @functools.wraps(initialise)
    def __init__(self, *args, **kwargs):
        initialise(self, *args, **kwargs)
        state.device().held.pop(id(graph.default_capture_stream), None)

    return __init__


def _made_by(cls: type) -> Any:
    """`__new__` for PyTorch's class that was imported before the simulated GPU was switched on."""

    def __new__(_, *args, **kwargs):
        return cls(*args, **kwargs)

    return staticmethod(__new__)


class _BuiltWithCuda:
    """`torch` for the check that an optimizer makes in a capture only where PyTorch was built with CUDA."""

    backends = types.SimpleNamespace(cuda=types.SimpleNamespace(is_built=lambda: True))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _health_check() -> Any:
    check = _Optimizer._cuda_graph_capture_health_check
    seen = {**check.__globals__, "torch": _BuiltWithCuda()}
    return types.FunctionType(check.__code__, seen, check.__name__, check.__defaults__, check.__closure__)


def reset() -> None:
    """Forget captures that are under way, debugging, and the stream of captures that are given none."""
    trace.takers.clear()
    pools.process.debugging = False
    _module().graph.default_capture_stream = None


def patches():
    ours = _module()
    for name in _NAMES:
        yield torch.cuda, name, getattr(ours, name)
        if name == "CUDAGraph":
            yield original.CUDAGraph, "__new__", _made_by(ours.CUDAGraph)
        yield original, name, getattr(ours, name)
    yield torch._C, "_CUDAGraph", base.CUDAGraph
    yield torch._C, "_graph_pool_handle", pools.new_handle
    yield torch._C, "_host_emptyCache", lambda: None
    yield _Optimizer, "_cuda_graph_capture_health_check", _health_check()
