"""A kernel that executed a trap: the simulated GPU is lost to this process, as a real one is.

The launch itself returns, and every later use of the device fails: with a real GPU the Python process must be
restarted. Here, switching the simulated GPU off and on again is enough (`heal`).
"""

from __future__ import annotations

from typing import Any

import torch

from grader.simgpu.tensors import SimTensor

_MESSAGE = (
    "CUDA error: unspecified launch failure\n"
    "A kernel executed a trap, and the device can no longer be used: restart the Python kernel. "
    "The kernel that did it was launched earlier: {name!r}."
)
_HOST_ONLY = frozenset(
    ["__get__", "size", "stride", "dim", "numel", "is_contiguous", "storage_offset", "__len__"]
)
_before: dict[str, Any] = {}


def poison(name: str) -> None:
    """From now on the device answers with the error of the kernel `name`."""
    if _before:
        return

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise torch.AcceleratorError(_MESSAGE.format(name=name))

    before = SimTensor.__torch_function__

    def use(cls: type, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func.__name__ in _HOST_ONLY:
            return before(func, types, args, kwargs)
        return fail()

    _before.update(use=SimTensor.__dict__["__torch_function__"], sync=torch.cuda.synchronize)
    SimTensor.__torch_function__ = classmethod(use)
    torch.cuda.synchronize = fail


def check() -> None:
    """Raise if the device is lost."""
    if _before:
        torch.cuda.synchronize()


def heal() -> None:
    """Make the device usable again."""
    if _before:
        SimTensor.__torch_function__ = _before["use"]
        torch.cuda.synchronize = _before["sync"]
        _before.clear()
