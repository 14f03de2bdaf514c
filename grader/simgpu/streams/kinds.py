"""What the stream and event classes of the simulated device have in common."""

from __future__ import annotations

from typing import Any

import torch

from grader.simgpu import devices
from grader.simgpu.streams import state

CUDA = 1  # c10::DeviceType::CUDA
_Stream = torch.Stream  # PyTorch's own


def error(what: str) -> torch.AcceleratorError:
    return torch.AcceleratorError(f"CUDA error: {what}\n{devices.ASYNCHRONOUS}")


def state_of(stream: Any) -> state.StreamState:
    """The state behind a Stream object of any class."""
    if not isinstance(stream, _Stream):
        raise TypeError(f"expected a torch.Stream or a torch.cuda.Stream, not {type(stream).__name__}")
    if stream.device_type != CUDA:
        raise RuntimeError(
            "Event device type CUDA does not match recording stream's device type "
            f"{stream.device.type.upper()}."
        )
    return state.device().by_id(stream.stream_id)


class Generic(type):
    """`isinstance(x, torch.Stream)` also holds for PyTorch's own streams, of the CPU."""

    def __instancecheck__(cls, value: Any) -> bool:
        return (
            isinstance(value, cls.__base__) if "_replaces" in vars(cls) else super().__instancecheck__(value)
        )

    def __subclasscheck__(cls, other: type) -> bool:
        return (
            issubclass(other, cls.__base__) if "_replaces" in vars(cls) else super().__subclasscheck__(other)
        )


def named(cls: type, module: str, name: str) -> None:
    """Give `cls` the name that learners see of PyTorch's class."""
    cls.__module__, cls.__name__, cls.__qualname__ = module, name, name
