"""Numbers wide enough to be called exact: what oracles compute with."""

from __future__ import annotations

import numpy as np
import torch

from .model import Case

_WIDER = {torch.float64: np.longdouble, torch.complex128: np.clongdouble}


def wide(value: torch.Tensor | float | int | bool, dtype: torch.dtype) -> np.ndarray:
    """`value` as the kernel for `dtype` sees it, as a wider NumPy array (integers and bools as they are).

    float16, bfloat16, float32 become float64; float64 becomes longdouble (80 bits on x86; where the platform
    has nothing wider it stays float64). A tensor is converted to `dtype` first, as PyTorch's promotion does;
    a Python number stays as exact as it is.
    """
    if not isinstance(value, torch.Tensor):
        return np.asarray(value, dtype=_WIDER.get(dtype, np.complex128 if dtype.is_complex else np.float64))
    value = value.detach().to(dtype)
    if dtype in _WIDER:
        return value.numpy().astype(_WIDER[dtype])
    if dtype.is_complex:
        return value.to(torch.complex128).numpy()
    if dtype.is_floating_point:
        return value.to(torch.float64).numpy()
    return value.numpy()


def inputs(case: Case) -> list[np.ndarray]:
    """The case's tensors, wide, as the kernel for the case's dtype sees them."""
    return [wide(arg, case.dtype) for arg in case.args]
