"""torch.compile, torch.jit.trace and torch.jit.script on simulated tensors.

torch.compile would write Triton for a device that is not there, so a call that touches the simulated GPU runs
the function as it is: the same values, uncompiled. Calls that only touch host tensors are compiled as ever.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.utils._triton
from torch.utils._pytree import tree_any

from grader.simgpu.tensors import SimTensor, mark_all

_compile = torch.compile
_function_from_trace = torch._C._create_function_from_trace
_method_from_trace = torch._C.ScriptModule._create_method_from_trace


def _is_sim(value: Any) -> bool:
    return isinstance(value, SimTensor)


def _touches_device(func: Any, args: tuple, kwargs: dict) -> bool:
    """Will `func(*args, **kwargs)` meet the simulated GPU: in arguments, parameters, variables, by name?"""
    if tree_any(_is_sim, (args, kwargs)):
        return True
    owner = getattr(func, "__self__", func)
    if isinstance(owner, torch.nn.Module):
        held = (*owner.parameters(), *owner.buffers())
        if held:
            return any(map(_is_sim, held))
        func = type(owner).forward
    code = getattr(func, "__code__", None)
    if code is None:
        return False
    if any(isinstance(c, str) and c.partition(":")[0] == "cuda" for c in code.co_consts):
        return True
    cells = [c.cell_contents for c in func.__closure__ or () if c != _EMPTY_CELL]
    named = [func.__globals__[n] for n in code.co_names if n in func.__globals__]
    return any(
        _is_sim(v) or (isinstance(v, torch.nn.Module) and _touches_device(v, (), {})) for v in cells + named
    )


_EMPTY_CELL = type((lambda x: lambda: x)(0).__closure__[0])()  # a cell that its function has not filled yet


def _compiled_or_plain(compiled: Any, func: Any) -> Any:
    @functools.wraps(func)
    def call(*args, **kwargs):
        if _touches_device(func, args, kwargs):
            return func(*args, **kwargs)
        return compiled(*args, **kwargs)

    return call


@functools.wraps(_compile)
def compile_(model=None, **kwargs):
    if model is None:
        return lambda m: compile_(m, **kwargs)
    compiled = _compile(model, **kwargs)
    if isinstance(compiled, torch.nn.Module):
        compiled.forward = _compiled_or_plain(compiled.forward, model.__call__)
        return compiled
    return _compiled_or_plain(compiled, model)


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


def _no_triton() -> str:
    raise RuntimeError("there is no Triton for the simulated GPU")  # as where there is no driver


def patches():
    # The compiler of host code asks Triton for its driver wherever torch.cuda.is_available().
    yield torch.utils._triton, "has_triton", lambda: False
    yield torch.utils._triton, "triton_hash_with_backend", _no_triton
    yield torch, "compile", compile_
    for cls, call in _CALLS:
        yield cls, "__call__", call
    yield torch._C, "_create_function_from_trace", function_from_trace
    yield torch._C.ScriptModule, "_create_method_from_trace", method_from_trace
