"""Autograd on simulated tensors: what PyTorch's engine hands to Python is marked as its forward was.

The engine is C++ and knows only CPU tensors. Where it calls back into Python (hooks, `autograd.Function`) the
tensors come plain: saved ones are recognised by their storage, gradients by what the forward returned.
"""

from __future__ import annotations

import functools
import threading
from contextlib import nullcontext
from typing import Any

import torch
import torch.autograd.function as function
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch._C import _EnableTorchFunction as SeeingTensors

from grader.simgpu import backward_streams, memory, mixing, tracking, work
from grader.simgpu.tensors import RULES, SIMULATED, SimTensor, mark, mark_all, rule
from grader.simgpu.tracking import learners_code

_Tensor = torch.Tensor
_Node = function.BackwardCFunction
_bind_apply = vars(torch._C._FunctionBase)["apply"].__get__
# Since PyTorch 2.14 a Function has the method of C++ itself, where it used to call its base's.
_FUNCTION_APPLIES_ITSELF = vars(function.Function).get("apply") is vars(torch._C._FunctionBase)["apply"]
_sees_tensors = torch._C._is_torch_function_enabled
_hooks_init = torch.autograd.graph.saved_tensors_hooks.__init__
_register_hook = function._HookMixin._register_hook
_engine = torch.autograd.graph._engine_run_backward


def _mark_resident(value: Any) -> Any:
    if type(value) is _Tensor and memory.is_resident(value):
        mark(value)
    return value


# ------------------------------------------------------------------ autograd.Function


def _any_simulated(values: tuple) -> bool:
    for v in values:  # noqa: SIM110 (half the time of any(), and every custom Function of the host's pays it)
        if type(v) in SIMULATED:
            return True
    return False


def apply(cls, *args, **kwargs):
    """Function.apply, of every kind: a call that meets the device gets a node that marks what it shows."""
    outputs = _bind_apply(None, cls)(*args, **kwargs)
    several = outputs if type(outputs) is tuple else (outputs,)
    if _any_simulated(args) or _any_simulated(several):
        _note_devices(args, several)
    return outputs


def _note_devices(inputs: tuple, outputs: tuple) -> None:
    for out in outputs:
        _mark_resident(out)
    if work.tracking():
        backward_streams.note(outputs)
    for out in outputs:
        node = out.grad_fn if isinstance(out, _Tensor) else None
        if isinstance(node, _Node):
            node.__class__ = _on_device(type(node))
            node._simulated_outputs = tuple(isinstance(o, SimTensor) for o in outputs)
            node._simulated_inputs = tuple(
                isinstance(i, SimTensor) if isinstance(i, _Tensor) else None for i in inputs
            )
            return


class _OnDevice:
    """What a node of a custom Function does differently on the device; nodes of the host's stay PyTorch's."""

    __slots__ = ()

    def apply(self, *grads):
        __tracebackhide__ = True
        tracking.follow_backward(grads)
        grads = self._marked(grads)
        if tracking.wanted():
            with learners_code():
                return self._checked(super().apply(*grads))
        return self._checked(super().apply(*grads))

    def apply_boxed(self, *args):
        # The engine passes one list; direct callers may pass the gradients themselves.
        __tracebackhide__ = True
        tracking.follow_backward(args)
        if len(args) == 1 and type(args[0]) is list:
            args[0][:] = self._marked(args[0])
        else:
            args = self._marked(args)
        if tracking.wanted():
            with learners_code():
                return self._checked(super().apply_boxed(*args))
        return self._checked(super().apply_boxed(*args))

    @property
    def saved_tensors(self):
        return tuple(_mark_resident(t) for t in super().saved_tensors)

    def _marked(self, grads):
        return tuple(
            mark(g) if sim and type(g) is _Tensor else g
            for g, sim in zip(grads, self._simulated_outputs, strict=False)
        )

    def _checked(self, grads):
        """The engine's check that a gradient is where its input is."""
        __tracebackhide__ = True
        several = grads if isinstance(grads, tuple) else (grads,)
        pairs = [(g, sim) for g, sim in zip(several, self._simulated_inputs, strict=False) if sim is not None]
        for i, (g, sim) in enumerate(pairs):
            strided = isinstance(g, _Tensor) and g.layout is torch.strided and g.dim()
            if strided and memory.is_resident(g) != sim:
                where = ("cuda:0", "cpu") if sim else ("cpu", "cuda:0")
                raise RuntimeError(
                    f"Function {type(self).__name__} returned an invalid gradient at index {i} - "
                    f"expected device {where[0]} but got {where[1]}"
                )
        return grads


def _on_device(node_class: type) -> type:
    """The class of `node_class`'s nodes on the device; it bears the same name."""
    if issubclass(node_class, _OnDevice):
        return node_class
    if "_on_device" not in vars(node_class):
        members = {"__module__": node_class.__module__, "__qualname__": node_class.__qualname__}
        node_class._on_device = type(node_class.__name__, (_OnDevice, node_class), members)
    return node_class._on_device


# ------------------------------------------------------------------ hooks and the engine


def hooks_init(self, pack_hook, unpack_hook):
    """saved_tensors_hooks: the engine calls the hooks from inside an operation, with what it holds itself."""

    @functools.wraps(pack_hook)
    def pack(t):
        # An operation of ours runs without looking at tensors; its result is not marked yet when it is saved.
        if not _sees_tensors() and not mixing.is_operand_on_host(t):
            mark(t)
        else:
            _mark_resident(t)
        with learners_code():
            return pack_hook(t)

    @functools.wraps(unpack_hook)
    def unpack(packed):
        with learners_code():
            return unpack_hook(packed)

    _hooks_init(self, pack, unpack)


class _Backward(threading.local):
    simulated = False  # does this thread's backward start from simulated tensors?


_backward_now = _Backward()


def run_backward(*args, **kwargs):
    """The engine's entry: hooks and backward functions that it calls see simulated tensors as such."""
    simulated, outer = _any_simulated(args[0]), _backward_now.simulated
    if not simulated and not outer and _sees_tensors():
        return _engine(*args, **kwargs)
    _backward_now.simulated = simulated
    try:
        with tracking.backward(args[0], args[1]) if simulated else nullcontext(), SeeingTensors():
            return _engine(*args, **kwargs)
    finally:
        _backward_now.simulated = outer


def register_hook(backward_hooks, hook):
    """What `grad_fn.register_hook` and `register_prehook` call for every node, PyTorch's own ones too."""

    @functools.wraps(hook, updated=())
    def marked(*gradients):
        if not _backward_now.simulated:
            return hook(*gradients)
        tracking.follow_backward(gradients)
        with learners_code():
            return hook(*mark_all(gradients))

    return _register_hook(backward_hooks, marked)


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
    if isinstance(g, _Tensor) and x.device.type != g.device.type and x.dtype == g.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{g.device.type}' to a tensor with device "
            f"type '{x.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    with PlainTensors():
        return func(x, g)


def _with_marked_argument(register):
    """A rule for `x.register_hook(hook)`: the hook is handed simulated tensors."""

    def register_hook(func, args, kwargs):
        x, hook = args if len(args) > 1 else (args[0], kwargs["hook"])

        @functools.wraps(hook, updated=())
        def marked(t):
            tracking.follow_backward(t if register is _Tensor.register_hook else ())
            with learners_code():
                return hook(mark(t))

        with PlainTensors():
            return register(x, marked)

    return register_hook


for _method in (_Tensor.register_hook, _Tensor.register_post_accumulate_grad_hook):
    RULES[_method] = _with_marked_argument(_method)


def patches():
    yield function._SingleLevelFunction, "apply", classmethod(apply)
    if _FUNCTION_APPLIES_ITSELF:
        yield function.Function, "apply", classmethod(apply)
    yield function._HookMixin, "_register_hook", staticmethod(register_hook)
    yield torch.autograd.graph.saved_tensors_hooks, "__init__", hooks_init
    yield torch.autograd, "_engine_run_backward", run_backward
    yield torch.autograd.graph, "_engine_run_backward", run_backward
