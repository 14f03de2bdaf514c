"""Autograd on simulated tensors: what PyTorch's engine hands to Python is marked as its forward was.

The engine is C++ and knows only CPU tensors. Where it calls back into Python (hooks, `autograd.Function`) the
tensors come plain: saved ones are recognised by their storage, gradients by what the forward returned.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.autograd.function as function
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch._C import _EnableTorchFunction as SeeingTensors

from grader.simgpu import memory, trace
from grader.simgpu.counting import CountLaunches, learners_code
from grader.simgpu.tensors import RULES, SimTensor, mark, mark_all, rule

_Tensor = torch.Tensor
_Node = function.BackwardCFunction
_node_apply = _Node.apply
_node_apply_boxed = getattr(_Node, "apply_boxed", None)
_apply = torch.autograd.Function.apply.__func__
_saved = torch._C._FunctionBase.saved_tensors.__get__
_sees_tensors = torch._C._is_torch_function_enabled
_hooks_init = torch.autograd.graph.saved_tensors_hooks.__init__
_engine = torch.autograd.graph._engine_run_backward


def _mark_resident(value: Any) -> Any:
    if type(value) is _Tensor and memory.is_resident(value):
        mark(value)
    return value


# ------------------------------------------------------------------ autograd.Function


def _any_simulated(values: tuple) -> bool:
    for v in values:  # noqa: SIM110 (half the time of any(), and every custom Function of the host's pays it)
        if isinstance(v, SimTensor):
            return True
    return False


def apply(cls, *args, **kwargs):
    """Function.apply: remembers on the node which outputs are simulated, for their gradients."""
    outputs = _apply(cls, *args, **kwargs)
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    if _any_simulated(args) or _any_simulated(several):
        _note_devices(args, several)
    return outputs


def _note_devices(inputs: tuple, outputs: tuple) -> None:
    for out in outputs:
        _mark_resident(out)
    for out in outputs:
        node = out.grad_fn if isinstance(out, _Tensor) else None
        if isinstance(node, _Node):
            node._simulated_outputs = tuple(isinstance(o, SimTensor) for o in outputs)
            node._simulated_inputs = tuple(
                isinstance(i, SimTensor) if isinstance(i, _Tensor) else None for i in inputs
            )
            return


def _marked_gradients(node, grads):
    simulated = getattr(node, "_simulated_outputs", None)
    if simulated is None:
        return grads
    return tuple(
        mark(g) if sim and type(g) is _Tensor else g for g, sim in zip(grads, simulated, strict=False)
    )


def _check_devices(node, grads):
    """The engine's check that a gradient is where its input is."""
    __tracebackhide__ = True
    simulated = getattr(node, "_simulated_inputs", None)
    if simulated is None:
        return grads
    several = grads if isinstance(grads, tuple) else (grads,)
    pairs = [(g, sim) for g, sim in zip(several, simulated, strict=False) if sim is not None]
    for i, (g, sim) in enumerate(pairs):
        if isinstance(g, _Tensor) and g.layout is torch.strided and g.dim() and memory.is_resident(g) != sim:
            where = ("cuda:0", "cpu") if sim else ("cpu", "cuda:0")
            raise RuntimeError(
                f"Function {type(node).__name__} returned an invalid gradient at index {i} - "
                f"expected device {where[0]} but got {where[1]}"
            )
    return grads


def node_apply(self, *grads):
    __tracebackhide__ = True
    grads = _marked_gradients(self, grads)
    if trace.active():
        with learners_code():
            return _check_devices(self, _node_apply(self, *grads))
    return _check_devices(self, _node_apply(self, *grads))


def node_apply_boxed(self, *args):
    # The engine passes one list; direct callers may pass the gradients themselves.
    if len(args) == 1 and type(args[0]) is list:
        args[0][:] = _marked_gradients(self, args[0])
    else:
        args = _marked_gradients(self, args)
    if trace.active():
        with learners_code():
            return _check_devices(self, _node_apply_boxed(self, *args))
    return _check_devices(self, _node_apply_boxed(self, *args))


def _saved_tensors(self):
    return tuple(_mark_resident(t) for t in _saved(self))


def hooks_init(self, pack_hook, unpack_hook):
    """saved_tensors_hooks: the engine calls the hooks from inside an operation, with what it holds itself."""

    @functools.wraps(pack_hook)
    def pack(t):
        with learners_code():
            return pack_hook(_mark_resident(t))

    @functools.wraps(unpack_hook)
    def unpack(packed):
        with learners_code():
            return unpack_hook(packed)

    _hooks_init(self, pack, unpack)


def run_backward(*args, **kwargs):
    """The engine's entry: hooks and backward functions that it calls see simulated tensors as such."""
    if trace.active() and _any_simulated(args[0]):
        with CountLaunches(), SeeingTensors():
            return _engine(*args, **kwargs)
    if _sees_tensors():
        return _engine(*args, **kwargs)
    with SeeingTensors():
        return _engine(*args, **kwargs)


# ------------------------------------------------------------------ Tensor methods and autograd functions


@rule(_Tensor.backward)
def _backward(func, args, kwargs):
    names = ("self", "gradient", "retain_graph", "create_graph", "inputs")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    gradient = given.get("gradient")
    if isinstance(gradient, _Tensor) and gradient.dim():
        here, there = (t.device for t in (given["self"], gradient))
        if here != there:
            raise RuntimeError(f"invalid gradient at index 0 - expected device {here} but got {there}")
    with PlainTensors():
        torch.autograd.backward(
            given["self"],
            given.get("gradient"),
            given.get("retain_graph"),
            given.get("create_graph", False),
            inputs=given.get("inputs"),
        )


@rule(torch.autograd.backward)
def _backward_all(func, args, kwargs):
    with PlainTensors():
        func(*args, **kwargs)


@rule(torch.autograd.grad)
def _grad(func, args, kwargs):
    inputs = kwargs["inputs"] if "inputs" in kwargs else args[1]
    with PlainTensors():
        grads = func(*args, **kwargs)
    inputs = (inputs,) if isinstance(inputs, _Tensor) else tuple(inputs)
    for g, x in zip(grads, inputs, strict=True):
        if isinstance(x, SimTensor):
            mark_all(g)
    return grads


@rule(_Tensor.grad.__set__)
def _assign_grad(func, args, kwargs):
    x, g = args
    if isinstance(g, _Tensor) and isinstance(x, SimTensor) != isinstance(g, SimTensor):
        raise RuntimeError("assigned grad has data located on a different device")
    with PlainTensors():
        return func(x, g)


def _with_marked_argument(register):
    """A rule for `x.register_hook(hook)`: the hook is handed simulated tensors."""

    def register_hook(func, args, kwargs):
        x, hook = args if len(args) > 1 else (args[0], kwargs["hook"])

        @functools.wraps(hook, updated=())
        def marked(t):
            with learners_code():
                return hook(mark(t))

        with PlainTensors():
            return register(x, marked)

    return register_hook


for _method in (_Tensor.register_hook, _Tensor.register_post_accumulate_grad_hook):
    RULES[_method] = _with_marked_argument(_method)


def patches():
    yield torch.autograd.Function, "apply", classmethod(apply)
    yield _Node, "apply", node_apply
    if _node_apply_boxed is not None:
        yield _Node, "apply_boxed", node_apply_boxed
    yield _Node, "saved_tensors", property(_saved_tensors)
    yield torch.autograd.graph.saved_tensors_hooks, "__init__", hooks_init
    yield torch.autograd, "_engine_run_backward", run_backward
    yield torch.autograd.graph, "_engine_run_backward", run_backward
