"""torch.compile on simulated tensors: PyTorch's own, with one change at each end.

At the front TorchDynamo takes a simulated tensor for an ordinary one on cuda:0, so that it sees what it would
see on a GPU: the devices, the graph breaks, the errors. At the back, where Inductor would write Triton for a
device that is not there, the graph is compiled for the memory behind the tensors (`host_graph`), and each
kernel that Inductor made counts as a launch (`kernels`).
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._subclasses.fake_tensor as fake_tensor
import torch.utils._triton
from torch._subclasses.fake_tensor import FakeTensor

from grader import tracebacks
from grader.simgpu import devices, switch
from grader.simgpu.compiling import host_graph
from grader.simgpu.tensors import SIMULATED

_compile = torch.compile
_dispatch = vars(FakeTensor)["__torch_dispatch__"].__func__
_asks_device = torch.ops.prim.device.default
_to = torch.Tensor.to
_HOST = torch.device("cpu")
_OURS = str(Path(__file__).resolve().parents[1])  # grader/simgpu
_BUILDER = "torch._dynamo.variables.builder"


@functools.wraps(_compile)
def compile_(model=None, **kwargs):
    compiled = _compile(model, **kwargs)
    for patch in _dynamos():  # torch.compile has just imported it, if nothing had before
        switch.patch(*patch)
    return compiled


def _dynamos():
    """What is changed in TorchDynamo, once it is imported (which takes a second)."""
    if _BUILDER not in sys.modules:
        return
    from torch._dynamo import trace_rules
    from torch._dynamo.backends.common import AotAutograd
    from torch._dynamo.variables import builder
    from torch._dynamo.variables.streams import StreamContextVariable

    if not hasattr(builder.infer_subclass_type, "__wrapped__"):
        yield builder, "infer_subclass_type", _subclass_of(builder.infer_subclass_type)
        yield trace_rules, "check", _leaving_ours_alone(trace_rules.check)
        yield AotAutograd, "__call__", host_graph.of_autograds_backend(AotAutograd.__call__)
        yield StreamContextVariable, "create", staticmethod(_stream_context)


def _subclass_of(infer_subclass_type: Callable) -> Callable:
    @functools.wraps(infer_subclass_type)
    def infer(value: Any) -> type | None:
        return None if type(value) in SIMULATED else infer_subclass_type(value)

    return infer


def _leaving_ours_alone(check: Callable) -> Callable:
    """Behind a graph break Dynamo compiles every function that is called; not ours, nor what they call."""

    @functools.wraps(check)
    def is_skipped(obj: Any, *args: Any, **kwargs: Any) -> bool:
        if isinstance(obj, types.CodeType) and _belongs_to_ours(obj):
            return True
        return check(obj, *args, **kwargs)

    return is_skipped


def _belongs_to_ours(code: types.CodeType) -> bool:
    caller = sys._getframe(3)
    while not code.co_filename.startswith(_OURS):
        if caller is None or tracebacks.is_learners(code.co_filename):
            return False
        code, caller = caller.f_code, caller.f_back
    return True


def _stream_context(tx: Any, stream: Any, **kwargs) -> Any:
    """`with torch.cuda.stream(s):` inside a compiled function is left to Python."""
    from torch._dynamo.exc import unimplemented

    unimplemented(
        gb_type="stream context of the simulated GPU",
        context=str(stream),
        explanation="The simulated GPU runs it in Python.",
        hints=["Enter the stream outside of the compiled function."],
    )


# ------------------------------------------------------------------ fake tensors on cuda:0


def _device_of_fake(args: tuple) -> torch.device:
    """Where C++ thinks that a fake tensor is. A CUDA device would end the process in autograd where PyTorch
    has no CUDA; Python still sees the fake's own."""
    device = fake_tensor._device_handler(args)
    return _HOST if device.type == "cuda" else device


def _fakes_dispatch(cls, func, types, args=(), kwargs=None):
    if func is _asks_device:
        return _device_of_fake(args)
    return _dispatch(cls, func, types, args, kwargs)


def _fakes_to(self, *args, **kwargs):
    """FakeTensor.to: C++ would take a fake on cuda:0 for one that is on the host already."""
    if isinstance(next(iter(args), None), torch.Tensor):
        return _to(self, *args, **kwargs)
    options = {k: v for k, v in kwargs.items() if k != "copy"}
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **options)
    if "cuda" not in (self.device.type, device and device.type):
        return _to(self, *args, **kwargs)
    if device is None or device.type == self.device.type:
        moved = {"memory_format": memory_format or torch.preserve_format, "copy": kwargs.get("copy", False)}
        return _to(self, dtype or self.dtype, **moved)
    moved = {"device": device, "dtype": dtype, "non_blocking": non_blocking, "memory_format": memory_format}
    return torch.ops.aten._to_copy(self, **moved)


def _fakes_cpu(self, memory_format=torch.preserve_format):
    return _fakes_to(self, _HOST, memory_format=memory_format)


def _fakes_cuda(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    device = torch.device("cuda", devices.index_of(device or 0))
    return _fakes_to(self, device, non_blocking=non_blocking, memory_format=memory_format)


def _no_triton() -> str:
    raise RuntimeError("there is no Triton for the simulated GPU")  # as where there is no driver


def patches():
    # The compiler of host code asks Triton for its driver wherever torch.cuda.is_available().
    yield torch.utils._triton, "has_triton", lambda: False
    yield torch.utils._triton, "triton_hash_with_backend", _no_triton
    yield torch, "compile", compile_
    yield torch._TorchCompileInductorWrapper, "__call__", host_graph.inductor
    yield FakeTensor, "__torch_dispatch__", classmethod(_fakes_dispatch)
    for name, method in (("to", _fakes_to), ("cpu", _fakes_cpu), ("cuda", _fakes_cuda)):
        yield FakeTensor, name, method
    handlers = {**fake_tensor._DISPATCH_META_HANDLERS, _asks_device: _device_of_fake}
    yield fake_tensor, "_DISPATCH_META_HANDLERS", handlers
    yield from _dynamos()
