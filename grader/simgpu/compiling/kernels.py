"""The kernels that Inductor generates for a graph of the device's: each call of one is a launch.

Inductor writes a Python module that calls C++ kernels and ATen's operations. ATen's become work of the device
as always; here the C++ kernels do.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import torch

from grader.simgpu import clock, memory, order, streams, switch, trace, tracking, work
from grader.simgpu.again import Again
from grader.simgpu.aten import addressed_bytes
from grader.simgpu.compiling.on_host import on_host_tensors

# Makes the code of a graph of the device's differ from that of the same graph on the host, so that PyTorch's
# caches keep the two apart.
_NAMES = {"cpp.descriptive_names": "inductor_node"}


class _Compiling(threading.local):
    for_device = False


_now = _Compiling()


def compiled_for_device(graph: Any, inputs: list, options: dict) -> Callable:
    """Inductor's `compile_fx(graph, inputs)`, forward and backward, with kernels that count."""
    from torch._functorch import config as autograds_config
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    if not hasattr(AsyncCompile.wait, "of_simgpu"):
        _install(AsyncCompile)

    @functools.wraps(compile_fx_inner)
    def inner(*args, **kwargs):
        outer, _now.for_device = _now.for_device, True
        try:
            with config.patch({**options, **_NAMES}):
                compiled = compile_fx_inner(*args, **kwargs)
        finally:
            _now.for_device = outer
        if kwargs.get("is_backward"):
            compiled.current_callable = on_host_tensors(compiled.current_callable)
        return compiled

    # AOTAutograd's cache would hand out results that `inner` has not seen; Inductor's own cache stays.
    with autograds_config.patch(enable_autograd_cache=False):
        return compile_fx(graph, inputs, inner_compile=inner, config_patches=options)


def _install(async_compile: type) -> None:
    switch.patch(async_compile, "cpp_pybinding", _with_source(async_compile.cpp_pybinding))
    switch.patch(async_compile, "wait", _named_kernels(async_compile.wait))


def _with_source(cpp_pybinding: Callable) -> Callable:
    @functools.wraps(cpp_pybinding)
    def remember(self, argtypes: list[str], source_code: str):
        kernel = cpp_pybinding(self, argtypes, source_code)
        return _Source(kernel, source_code) if _now.for_device else kernel

    return remember


class _Source:
    """A kernel that may still be compiling, and its C++."""

    def __init__(self, kernel: Any, code: str):
        self.kernel, self.code = kernel, code


def _named_kernels(wait: Callable) -> Callable:
    @functools.wraps(wait)
    def named(self, scope: dict[str, Any]) -> None:
        sources = {name: value for name, value in scope.items() if isinstance(value, _Source)}
        scope.update({name: source.kernel for name, source in sources.items()})
        wait(self, scope)
        for name, source in sources.items():
            scope[name] = _launching(scope[name], name.removeprefix("cpp_"), source.code)
        if _now.for_device and "empty_strided_cpu" in scope:
            scope["empty_strided_cpu"] = _on_device(scope["empty_strided_cpu"])

    named.of_simgpu = True
    return named


def _on_device(empty: Callable) -> Callable:
    def allocate(*args):
        made = empty(*args)
        if tracking.wanted():
            memory.note(made)
            order.allocated(made, streams.current())
        return made

    return allocate


def _launching(kernel: Callable, name: str, code: str) -> Callable:
    """`kernel` as a launch at each call. Its C++ parameters are called in_ptr, out_ptr and in_out_ptr."""
    head = re.search(r"\bkernel\((.*?)\)", code, re.DOTALL)
    parameters = [p.split()[-1].lstrip("*") for p in head[1].split(",")] if head else []

    def launch(*args):
        if not tracking.wanted():
            return kernel(*args)
        tensors = [(p, t) for p, t in zip(parameters, args, strict=False) if isinstance(t, torch.Tensor)]
        reads = [t for p, t in tensors if p.startswith("in_")]
        writes = [t for p, t in tensors if "out_" in p]
        if work.tracking():
            result = work.run(_piece(name, kernel, args, reads, writes), lambda: kernel(*args))
        else:
            result = kernel(*args)
        if trace.active():
            _count(name, reads, writes)
        return result

    return launch


def _piece(name: str, kernel: Callable, args: tuple, reads: list, writes: list) -> work.Work:
    accesses = {id(t): work.Access.of(t) for t in (*reads, *writes)}
    read, written = ([(accesses[id(t)].key, addressed_bytes(t)) for t in ts] for ts in (reads, writes))
    return work.Work(
        name,
        "torch",
        streams.current(),
        tuple(accesses[id(t)] for t in reads),
        tuple(accesses[id(t)] for t in writes),
        cost=clock.costs.kernel("triton", read, written, max((t.numel() for t in writes), default=1)),
        line=order.here(),
        rerun=Again(kernel, args, {}, accesses, False),
    )


def _count(name: str, reads: list[torch.Tensor], writes: list[torch.Tensor]) -> None:
    trace.emit(
        trace.Launch(
            name=name,
            kind="torch",
            bytes_read=sum(map(addressed_bytes, reads)),
            bytes_written=sum(map(addressed_bytes, writes)),
            numel=max((t.numel() for t in writes), default=0),
        )
    )
