"""The old names for a dtype on a device: `torch.FloatTensor`, `torch.cuda.FloatTensor` and their kin.

`torch.FloatTensor` asks C++ what a tensor is, and to C++ a simulated tensor is on the CPU. So stand-ins bear
these names, and whoever is handed one gets PyTorch's own from `pytorchs_own`.
"""

from __future__ import annotations

from typing import Any

import torch

from grader.simgpu.tensors import SimTensor

DTYPES = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16,
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Bool": torch.bool, "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
}  # fmt: skip
_set_default = torch._C._set_default_tensor_type


def dtype_of(name: str) -> torch.dtype:
    """The dtype of a type's name: torch.float32 of "torch.cuda.FloatTensor"."""
    kind = name.rpartition(".")[2].removesuffix("Tensor")
    if kind not in DTYPES:
        raise ValueError(f"invalid type: '{name}'")
    return DTYPES[kind] if kind else torch.get_default_dtype()


class _CudaType(type):
    """`torch.cuda.FloatTensor` and its kin: constructors, and types to ask `isinstance` about."""

    def __call__(cls, *args, **kwargs):
        dtype = DTYPES[cls.kind]
        if not args:
            return torch.empty(0, dtype=dtype, device="cuda:0")
        if all(type(a) is int for a in args):
            return torch.empty(*args, dtype=dtype, device="cuda:0")
        if isinstance(args[0], torch.Size):
            return torch.empty(args[0], dtype=dtype, device="cuda:0")
        return torch.tensor(*args, dtype=dtype, device="cuda:0")

    def __instancecheck__(cls, value):
        return isinstance(value, SimTensor) and value.dtype == DTYPES[cls.kind]

    def __repr__(cls):
        return f"<class '{cls.cuda_type_name}'>"


class _HostType(type):
    """Stands for `torch.FloatTensor` and its kin, whose instances are not on the device."""

    def __call__(cls, *args, **kwargs):
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, value):
        return not isinstance(value, SimTensor) and isinstance(value, cls.original)

    def __getattr__(cls, name):
        return getattr(cls.original, name)

    def __repr__(cls):
        return repr(cls.original)


def pytorchs_own(kind: Any) -> Any:
    """What a stand-in stands for; anything else as it is."""
    return kind.original if type(kind) is _HostType else kind


def _cuda_type(kind: str) -> type:
    name = f"{kind}Tensor"
    members = {"kind": kind, "cuda_type_name": f"torch.cuda.{name}", "dtype": DTYPES[kind], "is_cuda": True}
    return _CudaType(name, (), {**members, "__module__": "torch.cuda"})


def _host_type(original: Any) -> type:
    return _HostType(original.__name__, (), {"original": original, "__module__": original.__module__})


_HOST_TYPES = {
    name: _host_type(getattr(torch, name)) for name in map("{}Tensor".format, DTYPES) if hasattr(torch, name)
}


def set_default_tensor_type(kind: Any) -> None:
    if type(kind) is _CudaType:
        torch.set_default_dtype(kind.dtype)
        torch.set_default_device("cuda")
    else:
        _set_default(pytorchs_own(kind))


def patches():
    for kind in DTYPES:
        if hasattr(torch.cuda, f"{kind}Tensor"):
            yield torch.cuda, f"{kind}Tensor", _cuda_type(kind)
    for name, stand_in in _HOST_TYPES.items():
        yield torch, name, stand_in
    yield torch._C, "_set_default_tensor_type", set_default_tensor_type
