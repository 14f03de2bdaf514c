"""Reading device arguments as CUDA builds of PyTorch read them: there is one simulated GPU, cuda:0."""

from __future__ import annotations

from typing import Any

import torch

ASYNCHRONOUS = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
    "might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)
_NO_SUCH_DEVICE = (
    "CUDA error: invalid device ordinal\n"
    f"GPU device may be out of range, do you have enough GPUs?\n{ASYNCHRONOUS}"
)


def is_cuda(device: Any) -> bool:
    """Does `device`, as learners write it, mean a CUDA device? Malformed ones are PyTorch's to refuse."""
    if type(device) is str:
        return device == "cuda" or (device.startswith("cuda:") and device[5:].isdecimal())
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return type(device) is int and device >= 0  # a bare index means the accelerator


def index_of(device: Any) -> int:
    """The index that a CUDA `device` names; 0, the current device, if it names none."""
    if type(device) is int:
        return device
    return torch.device(device).index or 0


def check_index(device: Any) -> None:
    """Refuse CUDA devices other than cuda:0 with CUDA's own error."""
    __tracebackhide__ = True
    if device is not None and index_of(device) != 0:
        raise torch.AcceleratorError(_NO_SUCH_DEVICE)
