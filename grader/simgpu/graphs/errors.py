"""What CUDA says of what a capture does not allow."""

from __future__ import annotations

import torch

from grader.simgpu import devices

_DOCUMENTATION = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"
_SAYINGS = {
    "cudaErrorStreamCaptureUnsupported": "operation not permitted when stream is capturing",
    "cudaErrorStreamCaptureInvalidated": "operation failed due to a previous error during capture",
    "cudaErrorStreamCaptureMerge": "operation would result in a merge of separate capture sequences",
    "cudaErrorStreamCaptureUnjoined": "capturing stream has unjoined work",
    "cudaErrorStreamCaptureIsolation": "dependency created on uncaptured work in another stream",
    "cudaErrorCapturedEvent": "operation not permitted on an event last recorded in a capturing stream",
    "cudaErrorIllegalState": "the operation cannot be performed in the present state",
}


def error(name: str) -> torch.AcceleratorError:
    """PyTorch's error for the CUDA error `name`."""
    return torch.AcceleratorError(
        f"CUDA error: {_SAYINGS[name]}\n"
        f"Search for `{name}' in {_DOCUMENTATION} for more information.\n{devices.ASYNCHRONOUS}"
    )


def unsupported() -> torch.AcceleratorError:
    return error("cudaErrorStreamCaptureUnsupported")


def invalidated() -> torch.AcceleratorError:
    return error("cudaErrorStreamCaptureInvalidated")
