"""Which bytes an access touches: two views of one storage may overlap in range and share no byte."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import pinned_pool


@dataclass(frozen=True, slots=True)
class Region:
    """Part of a block: what an access of the door's says, for what does not come through the door."""

    low: int
    high: int
    storage: Callable[[], torch.UntypedStorage | None]
    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    nbytes: int  # of the distinct elements


def whole(storage: torch.UntypedStorage) -> Region:
    """All bytes of `storage`."""
    count = storage.nbytes()
    return Region(0, count, weakref.ref(storage), torch.uint8, (count,), (1,), count)


def of_pinned(t: torch.Tensor) -> Region | None:
    """What the host's tensor `t` addresses, if that is pinned memory."""
    with PlainTensors():
        if not t.numel():
            return None
        storage = pinned_pool.storage_at(t.data_ptr())
        if storage is None:
            return None
        low = t.data_ptr() - storage.data_ptr()
        last = sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))
        high = low + (last + 1) * t.element_size()
        elements = prod(n for n, step in zip(t.shape, t.stride(), strict=True) if step)
        nbytes = elements * t.element_size()
        return Region(low, high, weakref.ref(storage), t.dtype, tuple(t.shape), t.stride(), nbytes)


def is_dense(access: Any) -> bool:
    """Does `access` touch every byte of its range?"""
    return access.nbytes == access.high - access.low


def mask(access: Any) -> np.ndarray:
    """For each byte of the access's range: is it touched?"""
    size = access.dtype.itemsize
    touched = np.zeros(access.high - access.low, dtype=bool)
    rows = np.lib.stride_tricks.as_strided(
        touched, (*access.shape, size), (*(s * size for s in access.strides), 1)
    )
    rows[...] = True
    return touched


def overlap(a: Any, b: Any) -> bool:
    """Is there a byte that both accesses (to the same memory) touch?"""
    low, high = a.low if a.low > b.low else b.low, a.high if a.high < b.high else b.high
    if low >= high:
        return False
    both = None
    for access in (a, b):
        if not is_dense(access):
            there = mask(access)[low - access.low : high - access.low]
            both = there if both is None else both & there
    return both is None or bool(both.any())
