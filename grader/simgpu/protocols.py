"""What Python does with a tensor: printing, formatting, NumPy, DLPack, copying, pickling, parameters."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch._tensor_str
import torch.utils.dlpack
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.optim import optimizer
from torch.utils import _foreach_utils

from grader.simgpu import copies, order
from grader.simgpu.moves import type_name
from grader.simgpu.streams import kinds
from grader.simgpu.tensors import SimParameter, SimTensor, mark, plain, rule

_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter
_new_parameter = _Parameter.__new__
_from_dlpack = torch.from_dlpack


# ------------------------------------------------------------------ text


@rule(_Tensor.__repr__)
def _repr(func, args, kwargs):
    t = args[0]
    with PlainTensors():
        if type(t) is SimParameter:
            alias = mark(plain(t))
            alias.requires_grad_(t.requires_grad)
            t = alias
        contents = kwargs.get("tensor_contents")
        text = copies.read_back(t, lambda: torch._tensor_str._str(t, tensor_contents=contents), "repr")
    return "tensor(" + text.removeprefix("Tensor(").removeprefix("tensor(")


@rule(_Tensor.__format__)
def _format(func, args, kwargs):
    t, spec = args
    if t.dim() == 0:
        return t.item().__format__(spec)
    return object.__format__(t, spec)


@rule(_Tensor.type)
def _type(func, args, kwargs):
    return args[0].type(*args[1:], **kwargs) if len(args) > 1 or kwargs else type_name(args[0])


# ------------------------------------------------------------------ the host may not look at device memory


def _refuse_numpy() -> None:
    __tracebackhide__ = True
    raise TypeError(
        "can't convert cuda:0 device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


@rule(_Tensor.numpy)
def _numpy(func, args, kwargs):
    __tracebackhide__ = True
    if kwargs.get("force"):
        return args[0].detach().cpu().resolve_conj().resolve_neg().numpy()
    _refuse_numpy()


@rule(_Tensor.__array__)
def _array(func, args, kwargs):
    __tracebackhide__ = True
    _refuse_numpy()


def _refuse_host_only(name: str):
    def refuse(func, args, kwargs):
        raise TypeError(f"{name} is only implemented on CPU tensors")

    return refuse


for _name in ("apply_", "map_", "map2_"):
    if hasattr(_Tensor, _name):
        rule(getattr(_Tensor, _name))(_refuse_host_only(_name))


@rule(_Tensor.is_shared)
def _is_shared(func, args, kwargs):
    return True  # device memory can always be handed to another process


@rule(_Tensor.record_stream)
def _record_stream(func, args, kwargs):
    """The block of the tensor is not used again before what the stream holds now is done."""
    t, stream = args if len(args) > 1 else (args[0], kwargs["s"])
    order.recorded(t, kinds.state_of(stream))


# ------------------------------------------------------------------ DLPack: device 2 is CUDA


@rule(_Tensor.__dlpack_device__)
def _dlpack_device(func, args, kwargs):
    return torch.utils.dlpack.DLDeviceType.kDLCUDA, 0


@rule(_Tensor.__dlpack__)
def _dlpack(func, args, kwargs):
    raise BufferError("Unsupported device in DLTensor.")  # what a consumer on the host says of a CUDA capsule


def from_dlpack(ext_tensor, *args, **kwargs):
    if isinstance(ext_tensor, SimTensor):
        return mark(plain(ext_tensor))
    return _from_dlpack(ext_tensor, *args, **kwargs)


# ------------------------------------------------------------------ copies and pickles


@rule(_Tensor.__reduce_ex__)
def _reduce(func, args, kwargs):
    t, protocol = args
    with PlainTensors():
        build, arguments = t._reduce_ex_internal(protocol)
        state = torch._utils._get_obj_state(t)
    if not state:
        return build, arguments
    return torch._tensor._rebuild_from_type_v2, (build, _Tensor, arguments, state)


@rule(_Tensor.__deepcopy__)
def _deepcopy(func, args, kwargs):
    t, memo = args
    if id(t) in memo:
        return memo[id(t)]
    if not t.is_leaf:
        with PlainTensors():
            return func(t, memo)  # PyTorch's own words
    with PlainTensors(), torch.no_grad():
        storage = t.untyped_storage().__deepcopy__(memo)
        new = torch.empty(0, dtype=t.dtype, device="cpu").set_(
            storage, t.storage_offset(), t.size(), t.stride()
        )
        new = new.conj() if t.is_conj() else new
        new = new._neg_view() if t.is_neg() else new
        new.__class__ = type(t)
        if t.requires_grad:
            new.requires_grad_()
    if t.grad is not None:
        new.grad = copy.deepcopy(t.grad, memo)
    new.__dict__.update(copy.deepcopy(t.__dict__, memo))
    memo[id(t)] = new
    return new


def _sim_parameter_deepcopy(self: SimParameter, memo: dict) -> SimParameter:
    return _deepcopy(None, (self, memo), {})


SimParameter.__deepcopy__ = _sim_parameter_deepcopy


def _parameter_new(cls, data: Any = None, requires_grad: bool = True):
    """`nn.Parameter(data)` for simulated data."""
    if not isinstance(data, SimTensor):
        return _new_parameter(cls, data, requires_grad)
    parameter = _Tensor._make_subclass(_Parameter, plain(data), requires_grad)
    return mark(parameter)


def patches():
    for module in (_foreach_utils, optimizer):  # optimisers update all tensors of these types at once
        kinds = [*module._foreach_supported_types, SimTensor, SimParameter]
        yield module, "_foreach_supported_types", kinds
    yield torch, "from_dlpack", from_dlpack
    yield torch.utils.dlpack, "from_dlpack", from_dlpack
    yield _Parameter, "__new__", staticmethod(_parameter_new)
