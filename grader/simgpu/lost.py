"""A device that a kernel has ruined: from then on every use of it fails, as with a real GPU.

The launch itself returns; the error comes with the next use. With a real GPU the Python process must be
restarted. Here, switching the simulated GPU off and on again is enough (`heal`).
"""

from __future__ import annotations

from typing import Any

import torch

from grader.simgpu.tensors import SimTensor

_HOST_ONLY = frozenset(
    ["__get__", "size", "stride", "dim", "numel", "is_contiguous", "storage_offset", "__len__"]
)
_before: dict[str, Any] = {}


def poison(error: str, why: str) -> None:
    """From now on the device answers `CUDA error: {error}`, and tells `why`. The first error stays."""
    if _before:
        return
    message = f"CUDA error: {error}\n{why}\nThe device can no longer be used: restart the Python kernel."

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise torch.AcceleratorError(message)

    before = SimTensor.__torch_function__

    def use(cls: type, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func.__name__ in _HOST_ONLY:
            return before(func, types, args, kwargs)
        return fail()

    _before.update(use=SimTensor.__dict__["__torch_function__"], sync=torch.cuda.synchronize, fail=fail)
    SimTensor.__torch_function__ = classmethod(use)
    torch.cuda.synchronize = fail


def check() -> None:
    """Raise if the device is lost."""
    if _before:
        _before["fail"]()


def heal() -> None:
    """Make the device usable again."""
    if _before:
        SimTensor.__torch_function__ = _before["use"]
        torch.cuda.synchronize = _before["sync"]
        _before.clear()
