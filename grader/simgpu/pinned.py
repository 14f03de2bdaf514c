"""Pinned host memory: ordinary host memory whose storage knows that it was asked to be pinned."""

from __future__ import annotations

from typing import Any

import torch

from grader.simgpu.tensors import SimTensor

_untyped_storage = torch.Tensor.untyped_storage
_is_pinned = torch.Tensor.is_pinned


class PinnedStorage(torch.UntypedStorage):
    """Host memory that the device could read by itself."""


PinnedStorage.__name__ = PinnedStorage.__qualname__ = "UntypedStorage"
PinnedStorage.__module__ = "torch.storage"


def _pin(t: torch.Tensor) -> torch.Tensor:
    _untyped_storage(t).__class__ = PinnedStorage
    return t


def make(func: Any, args: tuple, kwargs: dict) -> torch.Tensor:
    """Call the factory `func`, which was asked for `pin_memory=True`."""
    made = func(*args, **{k: v for k, v in kwargs.items() if k != "pin_memory"})
    if made.device.type != "cpu":
        raise RuntimeError("Only dense CPU tensors can be pinned")
    return _pin(made)


def is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    if isinstance(self, SimTensor):
        return False
    if self.layout is torch.strided and type(_untyped_storage(self)) is PinnedStorage:
        return True
    return _is_pinned(self) if device is None else _is_pinned(self, device)


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    if isinstance(self, SimTensor) or self.layout is not torch.strided or self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    copy = torch.empty_strided(self.size(), self.stride(), dtype=self.dtype, device="cpu")
    return _pin(copy).copy_(self.detach())


def patches():
    yield torch.Tensor, "is_pinned", is_pinned
    yield torch.Tensor, "pin_memory", pin_memory
