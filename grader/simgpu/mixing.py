"""Operations that meet tensors of both devices: refused with PyTorch's words, but for what a GPU allows.

PyTorch checks devices where each ATen operation starts, under its composite functions. So a call that holds
tensors of both devices runs under a dispatch mode that makes the same checks at the same places; what passes
is the result.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from grader.simgpu import pinned, tracking
from grader.simgpu.tensors import SimTensor, mark, plain, rule

_SAME = "Expected all tensors to be on the same device, but "
_TWO_DEVICES = _SAME + "found at least two devices, cuda:0 and cpu!"

# Operations whose kernels move between devices, touch no memory at all, or want some operand on the host.
_ANY_DEVICES = {
    "copy_", "_copy_from", "set_", "_has_compatible_shallow_copy_type", "is_same_size", "_to_copy",
    "tensor_split", "_nested_view_from_jagged", "_nested_view_from_jagged_copy",
}  # fmt: skip
# Composite in the dispatcher's eyes, but refused by the operation that they call: its name, and what it calls
# the argument.
_CALLS = {"stack": ("cat", "tensors"), "embedding": ("index_select", "index")}
# TensorIterator's, though not tagged as pointwise.
_ITERATED = {
    "allclose", "bernoulli", "binary_cross_entropy", "binary_cross_entropy_with_logits", "dist",
    "floor_divide", "index_fill", "index_fill_", "mse_loss", "renorm", "rsub", "smooth_l1_loss",
}  # fmt: skip
_STRUCTURED = {
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "cat",
    "gather",
    "scatter",
    "index_add",
    "addmv",
    "linalg_solve",
    "clamp",
    "clamp_max",
    "clamp_min",
}
_POINTWISE_BUT_CHECKED = {
    "clamp", "clamp_max", "clamp_min", "equal", "gcd", "igamma", "igammac", "lcm", "logaddexp", "logaddexp2",
    "nextafter",
}  # fmt: skip


class _Running(threading.local):
    host: tuple[torch.Tensor, ...] = ()  # the operands on the host of this thread's call


_running = _Running()


def is_operand_on_host(t: torch.Tensor) -> bool:
    """Is `t` memory of an operand on the host of the call that runs now in this thread?"""
    host = [h for h in _running.host if h.layout is torch.strided]
    if not host or t.layout is not torch.strided:
        return False
    memory = t.untyped_storage()._cdata
    return any(h.untyped_storage()._cdata == memory for h in host)


def run(func: Any, args: tuple, kwargs: dict) -> Any:
    """Call `func`, some of whose tensors are simulated and some on the host, with a GPU's device checks."""
    __tracebackhide__ = True
    on_host = tuple(
        t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and not isinstance(t, SimTensor)
    )
    host = {id(t) for t in on_host}
    pinned.read_as_numbers(func, on_host)
    outer, _running.host = _running.host, on_host
    try:
        with tracking.maybe(), DeviceChecks(), PlainTensors():
            result = func(*args, **kwargs)
    finally:
        _running.host = outer
    for t in tree_leaves(result):
        if type(t) is torch.Tensor and id(t) not in host and t.device.type == "cpu":
            mark(t)
    return result


@rule(torch.ctc_loss, torch.nn.functional.ctc_loss)
def _ctc_loss(func, args, kwargs):
    """The targets and the lengths may be on either device."""
    with tracking.maybe(), PlainTensors():
        return mark(func(*args, **kwargs))


@rule(torch._VF._pack_padded_sequence, torch._VF._pad_packed_sequence)
def _packing(func, args, kwargs):
    """The lengths of packed sequences stay on the host, as arguments and as results."""
    __tracebackhide__ = True
    lengths = args[1]
    if isinstance(lengths, SimTensor):
        kind = lengths.type().rpartition(".")[2].removesuffix("Tensor")
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, "
            f"but got {lengths.dim()}D cuda:0 {kind} tensor"
        )
    with tracking.maybe(), PlainTensors():
        data, on_host = func(*args, **kwargs)
    return mark(data), on_host


# Operators that take a 0-dim CPU tensor for a number: the common case, without the mode.
_ARITHMETIC = {
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "pow", "eq", "ne", "lt", "le",
    "gt", "ge", "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__truediv__", "__rdiv__", "__rpow__",
    "__pow__", "maximum", "minimum", "add_", "sub_", "mul_", "div_", "__iadd__", "__isub__", "__imul__",
    "__itruediv__",
}  # fmt: skip


def reads_number(func: Any, args: tuple, kwargs: dict) -> bool:
    """Is this simple arithmetic of a simulated tensor and a 0-dim CPU tensor?"""
    if kwargs or len(args) != 2 or getattr(func, "__name__", "") not in _ARITHMETIC:
        return False
    a, b = args
    if isinstance(a, SimTensor):
        return type(b) is torch.Tensor and b.dim() == 0 and b.device.type == "cpu"
    return func.__name__[-1:] != "_" and type(a) is torch.Tensor and a.dim() == 0 and a.device.type == "cpu"


class DeviceChecks(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        # Tensors that a composite function made for itself, without a class that says where. Held, so that
        # their ids stay theirs.
        self._made_inside: dict[int, torch.Tensor] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or else the first use imports torch._dynamo, which takes seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        __tracebackhide__ = True
        kwargs = kwargs or {}
        named = [(n, t) for n, t in _named_tensors(func, args, kwargs) if id(t) not in self._made_inside]
        simulated = any(isinstance(t, SimTensor) for _, t in named)
        if simulated and not all(isinstance(t, SimTensor) for _, t in named):
            _check(func, named, args, kwargs)
        with PlainTensors():
            result = func(*args, **kwargs)
        if simulated:
            known = {id(t) for _, t in named}
            for t in tree_leaves(result):
                if type(t) is torch.Tensor and id(t) not in known:
                    mark(t)
        elif not named:
            self._made_inside |= {id(t): t for t in tree_leaves(result) if type(t) is torch.Tensor}
        return result


def _named_tensors(func, args, kwargs) -> list[tuple[str, torch.Tensor]]:
    specs = func._schema.arguments
    values = [(spec.name, value) for spec, value in zip(specs, args, strict=False)] + list(kwargs.items())
    return [(name, t) for name, value in values for t in tree_leaves(value) if isinstance(t, torch.Tensor)]


def _check(func, named, args, kwargs) -> None:
    __tracebackhide__ = True
    name = func._schema.name.split("::")[-1]
    if name in _ANY_DEVICES:
        return
    if name in ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"):
        _check_indexing(func, args)
    elif name == "convolution":
        _check_convolution(args)
    elif name.startswith("mkldnn_rnn"):
        _check_rnn(named)
    elif name == "fill_" or name.startswith("masked_fill"):
        _check_fill(named)
    elif (
        name in _ITERATED
        or name.startswith("_foreach")
        or (torch.Tag.pointwise in func.tags and name.rstrip("_") not in _POINTWISE_BUT_CHECKED)
    ):
        _check_pointwise(func, named, args, kwargs)
    else:
        overload = "" if func._overloadname == "default" else func._overloadname
        _check_common_device(name, named, overload)


def _check_pointwise(func, named, args, kwargs) -> None:
    """TensorIterator: shapes first, then devices; a 0-dim CPU tensor may be read as if it were a number."""
    __tracebackhide__ = True
    written = {a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write}
    strangers = [t for n, t in named if not isinstance(t, SimTensor) and (t.dim() or n in written)]
    if strangers:
        with PlainTensors():
            func(*tree_map(_copy, args), **tree_map(_copy, kwargs))
        raise RuntimeError(_TWO_DEVICES)


def _copy(value: Any) -> Any:
    return plain(value).clone() if isinstance(value, torch.Tensor) else value


def _check_indexing(func, args) -> None:
    __tracebackhide__ = True
    target, indices = args[0], args[1]
    if not isinstance(target, SimTensor) and any(isinstance(i, SimTensor) for i in indices):
        raise RuntimeError(
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
        )
    if len(args) < 3 or isinstance(args[2], SimTensor) == isinstance(target, SimTensor):
        return
    value = args[2]
    one_mask = (
        sum(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices) == len(indices) == 1
    )
    moved = value.numel() == 1 and (value.dim() == 0 or (one_mask and not isinstance(value, SimTensor)))
    if not moved:
        raise RuntimeError(_TWO_DEVICES)


def _check_fill(named) -> None:
    __tracebackhide__ = True
    (_, target), *rest = named
    for name, t in rest:
        if isinstance(t, SimTensor) == isinstance(target, SimTensor):
            continue
        if name == "mask":
            raise RuntimeError(
                "expected self and mask to be on the same device, "
                f"but got mask on {t.device} and self on {target.device}"
            )
        if t.dim() == 0 and isinstance(target, SimTensor):
            continue
        raise RuntimeError(_TWO_DEVICES)


def _check_convolution(args) -> None:
    __tracebackhide__ = True
    image, weight, bias = args[:3]
    if isinstance(weight, SimTensor) and not isinstance(image, SimTensor) and not _is_mkldnns(args):
        return _check_common_device("_slow_conv2d_forward", [("self", image), ("weight", weight)])
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and isinstance(t, SimTensor) != isinstance(image, SimTensor):
            raise RuntimeError(f"Input type ({image.type()}) and {what} type ({t.type()}) should be the same")


def _is_mkldnns(args) -> bool:
    """Does the convolution of an image on the host go to oneDNN, which checks for itself?"""
    with PlainTensors():
        backend = torch._C._select_conv_backend(*args)
    return backend == torch._C._ConvBackend.Mkldnn


def _check_rnn(named) -> None:
    __tracebackhide__ = True
    tensors = [t for _, t in named]
    for t in tensors[1:]:
        if t.device != tensors[0].device:
            raise RuntimeError(
                "Input and parameter tensors are not at the same device, "
                f"found input tensor at {tensors[0].device} and parameter tensor at {t.device}"
            )


def _check_common_device(name: str, named, overload: str = "") -> None:
    """The check in front of every other CUDA kernel: the first tensor's device is the one to have."""
    __tracebackhide__ = True
    common = named[0][1].device
    for argument, t in named[1:]:
        if t.device != common:
            if name in _CALLS:
                (name, argument), overload = _CALLS[name], ""
            if name.rstrip("_") in _STRUCTURED:
                method = f"wrapper_CUDA_{name}_{overload}".removesuffix("_")
            else:
                method = f"wrapper_CUDA_{overload}_{name}"
            raise RuntimeError(
                f"{_SAME}got {argument} is on {t.device}, different from other tensors on {common} "
                f"(when checking argument in method {method})"
            )
