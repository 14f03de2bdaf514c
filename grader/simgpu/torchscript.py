"""torch.jit.trace and torch.jit.script on simulated tensors: results are where their arguments were."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils._pytree import tree_any

from grader.simgpu.tensors import SimTensor, mark_all

_function_from_trace = torch._C._create_function_from_trace
_method_from_trace = torch._C.ScriptModule._create_method_from_trace


def _is_sim(value: Any) -> bool:
    return isinstance(value, SimTensor)


def _traced_with_marks(func: Any, examples: Any) -> Any:
    """The tracer calls `func` with plain stand-ins for its example inputs."""
    if not tree_any(_is_sim, examples):
        return func

    @functools.wraps(func)
    def traced(*args):
        return func(*mark_all(args))

    return traced


def function_from_trace(name, func, example_inputs, *rest, **kwargs):
    return _function_from_trace(
        name, _traced_with_marks(func, example_inputs), example_inputs, *rest, **kwargs
    )


def method_from_trace(self, name, func, example_inputs, *rest, **kwargs):
    return _method_from_trace(
        self, name, _traced_with_marks(func, example_inputs), example_inputs, *rest, **kwargs
    )


def _marking_results(call: Any) -> Any:
    @functools.wraps(call)
    def scripted(self, *args, **kwargs):
        result = call(self, *args, **kwargs)
        return mark_all(result) if tree_any(_is_sim, (args, kwargs)) else result

    return scripted


_CALLS = [(cls, _marking_results(cls.__call__)) for cls in (torch._C.ScriptFunction, torch._C.ScriptMethod)]


def patches():
    for cls, call in _CALLS:
        yield cls, "__call__", call
    yield torch._C, "_create_function_from_trace", function_from_trace
    yield torch._C.ScriptModule, "_create_method_from_trace", method_from_trace
