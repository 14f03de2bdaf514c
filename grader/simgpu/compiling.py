"""torch.compile, torch.jit.trace and torch.jit.script on simulated tensors.

torch.compile would write Triton for a device that is not there, so a call that touches the simulated GPU runs
the function as it is: the same values, uncompiled. Calls that only touch host tensors are compiled as ever.
A backend of the learner's own gets its graph: for the length of the call it is shown host tensors.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._triton
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_any, tree_leaves

from grader.simgpu.tensors import SimTensor, mark_all, unmark

_compile = torch.compile
_from_tensor = FakeTensorMode.from_tensor
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
    return _names_device(func) or any(
        _is_sim(v) or (isinstance(v, torch.nn.Module) and _touches_device(v, (), {}))
        for v in _variables(func)
    )


def _names_device(func: Any) -> bool:
    code = getattr(func, "__code__", None)
    return code is not None and any(
        isinstance(c, str) and c.partition(":")[0] == "cuda" for c in code.co_consts
    )


def _variables(func: Any) -> list:
    """What the function's closure and the globals that it names hold."""
    code = getattr(func, "__code__", None)
    if code is None:
        return []
    cells = [c.cell_contents for c in getattr(func, "__closure__", None) or () if c != _EMPTY_CELL]
    return cells + [func.__globals__[n] for n in code.co_names if n in func.__globals__]


_EMPTY_CELL = type((lambda x: lambda: x)(0).__closure__[0])()  # a cell that its function has not filled yet


def _compiled_or_plain(compiled: Any, func: Any, own_backend: bool) -> Any:
    @functools.wraps(func)
    def call(*args, **kwargs):
        if not _touches_device(func, args, kwargs):
            return compiled(*args, **kwargs)
        if own_backend and not _names_device(func):
            with _as_host_tensors(_reached(func, args, kwargs)):
                result = compiled(*args, **kwargs)
            return mark_all(result)
        return func(*args, **kwargs)

    return call


def _reached(func: Any, args: tuple, kwargs: dict) -> list[SimTensor]:
    """The simulated tensors that `func(*args, **kwargs)` finds, and their gradients."""
    values = [args, kwargs, *_variables(func)]
    for module in (getattr(func, "__self__", None), *tree_leaves(values)):
        if isinstance(module, torch.nn.Module):
            values += [list(module.parameters()), list(module.buffers())]
    found = [t for t in tree_leaves(values) if _is_sim(t)]
    return found + [t.grad for t in found if t.is_leaf and _is_sim(t.grad)]


@contextlib.contextmanager
def _as_host_tensors(simulated: list[SimTensor]) -> Iterator[None]:
    classes = [(t, type(t)) for t in simulated]
    for t in simulated:
        unmark(t)
    try:
        yield
    finally:
        for t, kind in classes:
            t.__class__ = kind


@functools.wraps(_compile)
def compile_(model=None, **kwargs):
    if model is None:
        return lambda m: compile_(m, **kwargs)
    compiled = _compile(model, **kwargs)
    own_backend = callable(kwargs.get("backend"))
    if isinstance(compiled, torch.nn.Module):
        compiled.forward = _compiled_or_plain(compiled.forward, model.__call__, own_backend)
        return compiled
    return _compiled_or_plain(compiled, model, own_backend)


def from_tensor(self, tensor, **kwargs):
    """FakeTensorMode.from_tensor, with which torch.export begins. A fake CUDA tensor that requires a gradient
    ends the process where PyTorch has no CUDA, so the fake of a simulated tensor is on the host."""
    if not _is_sim(tensor):
        return _from_tensor(self, tensor, **kwargs)
    with _as_host_tensors([t for t in (tensor, tensor.grad if tensor.is_leaf else None) if _is_sim(t)]):
        return _from_tensor(self, tensor, **kwargs)


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
    yield FakeTensorMode, "from_tensor", from_tensor
    for cls, call in _CALLS:
        yield cls, "__call__", call
    yield torch._C, "_create_function_from_trace", function_from_trace
    yield torch._C.ScriptModule, "_create_method_from_trace", method_from_trace
