"""Arrays of other libraries as tensors: objects with `__cuda_array_interface__`, above all numba's arrays.

`torch.as_tensor` and `torch.asarray` with `device="cuda"` share the array's memory, `torch.tensor` copies it.
Without `device=` PyTorch means the host, as it does of a list. The rules and the words are PyTorch's own.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

import numpy as np
import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import devices, memory, moves, pinned_pool
from grader.simgpu.tensors import SimTensor, mark

_NAME = "__cuda_array_interface__"


def is_array(data: Any) -> bool:
    """Is `data` an array on the device that is no tensor?"""
    return hasattr(data, _NAME) if not isinstance(data, torch.Tensor) else False


def as_tensor(
    func: Any,
    data: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> torch.Tensor:
    """What `func` (torch.tensor, torch.as_tensor or torch.asarray) gives for the array `data`."""
    __tracebackhide__ = True
    if pin_memory:
        raise RuntimeError(f"Can't pin tensor constructed from {_NAME}")
    if func.__name__ == "asarray" and copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    device = device if device is not None else torch.get_default_device()
    if devices.is_cuda(device):
        devices.check_index(device)
    shared = _over(data, getattr(data, _NAME))
    copies = func.__name__ == "tensor"
    return moves.to(shared, device, dtype or shared.dtype, copy=copies).requires_grad_(requires_grad)


def _over(owner: Any, interface: Any) -> SimTensor:
    """A tensor over the memory that the interface describes."""
    __tracebackhide__ = True
    if not isinstance(interface, dict):
        raise TypeError(f"`{_NAME}` must be a dict")
    for key in ("shape", "typestr", "data"):
        if key not in interface:
            raise TypeError(f"attribute `{key}` must exist")
    shape, dtype = tuple(interface["shape"]), _dtype(interface["typestr"])
    if not isinstance(interface["data"], tuple) or len(interface["data"]) != 2:
        raise TypeError("`data` must be a 2-tuple of (int, bool)")
    pointer, read_only = interface["data"]
    if read_only:
        raise TypeError("the read only flag is not supported, should always be False")
    strides = _strides(interface.get("strides"), shape, dtype.itemsize)
    if not pointer or 0 in shape:
        return torch.empty_strided(shape, strides, dtype=dtype, device="cuda:0")
    with PlainTensors():
        found = torch.empty(0, dtype=dtype, device="cpu")
        storage, place = _storage(owner, pointer, shape, strides, dtype.itemsize)
        found.set_(storage, place, shape, strides)
    weakref.finalize(found, id, owner).atexit = False  # the owner lives as long as the tensor does
    return mark(found)


def _dtype(typestr: Any) -> torch.dtype:
    try:
        kind = np.dtype(typestr).newbyteorder("=")
    except TypeError:
        raise ValueError("cannot parse `typestr`") from None
    return torch.from_numpy(np.empty(0, kind)).dtype


def _strides(given: Any, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """In elements; those of a contiguous array if none are `given`, which are in bytes."""
    if given is None:
        return tuple(math.prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))
    if len(given) != len(shape):
        raise TypeError("strides must be a sequence of the same length as shape")
    if any(step % itemsize for step in given):
        raise ValueError(
            "given array strides not a multiple of the element byte size. "
            "Make a copy of the array to reallocate the memory."
        )
    return tuple(step // itemsize for step in given)


def _storage(
    owner: Any, pointer: int, shape: tuple, strides: tuple, itemsize: int
) -> tuple[torch.UntypedStorage, int]:
    """The storage with the byte at `pointer`, and how many elements before it there are."""
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) * itemsize + itemsize
    known = memory.storage_at(pointer)
    if known is not None and (pointer - known.data_ptr()) % itemsize == 0:
        return known, (pointer - known.data_ptr()) // itemsize
    if known is None and pinned_pool.storage_at(pointer) is None:
        raise RuntimeError(
            "The specified pointer resides on host memory and is not registered with any CUDA device."
        )
    seen = (ctypes.c_byte * last).from_address(pointer)
    seen.owner = owner
    return torch.frombuffer(seen, dtype=torch.uint8).untyped_storage(), 0
