"""From a failing case to a small one that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ..exercises import Case
from .call import result_shape

LENGTHS = (4, 8, 16, 32, 33, 64, 128, 129, 256, 512, 1024, 4096, 65536)


def cut(case: Case, dim: int, start: int, length: int) -> Case:
    """The case with dimension `dim` (counted from the last, -1) of its result narrowed; strides are kept."""
    args = []
    for arg in case.args:
        if isinstance(arg, list):
            arg = arg[start : start + length]
        elif isinstance(arg, torch.Tensor) and arg.dim() >= -dim and arg.size(dim) != 1:
            whole = arg.is_contiguous() and arg.storage_offset() == 0
            arg = arg.narrow(dim, start, length)
            arg = arg.clone() if whole else arg
        args.append(arg)
    return Case(tuple(args), case.kwargs, case.dtype, case.layout)


def shape_of(case: Case) -> tuple[int, ...]:
    """Shape of the case's result: tensors broadcast, a list counts as one dimension."""
    if any(isinstance(arg, torch.Tensor) for arg in case.args):
        return result_shape(case)
    return (len(case.args[0]),)


def shrink(case: Case, first_bad: int, fails: Callable[[Case], bool]) -> Case:
    """The smallest case found that still fails: windows around the first bad element, dimension by
    dimension.
    """
    shape = shape_of(case)
    where = np.unravel_index(first_bad, shape) if shape else ()
    for dim in range(-len(shape), 0):
        size = shape[dim]
        at = int(where[dim])
        for length in (n for n in LENGTHS if n < size):
            # once with the bad element first and once last: some faults follow the start, others the end
            starts = {min(at, size - length), max(0, at + 1 - length)}
            smaller = next((c for c in (cut(case, dim, s, length) for s in sorted(starts)) if fails(c)), None)
            if smaller is not None:
                case = smaller
                break
    return case


def window(shape: tuple[int, ...], first_bad: int, shown: int = 4) -> list[tuple[int, int]]:
    """For each dimension, start and length of a few elements around the first bad one."""
    where = np.unravel_index(first_bad, shape) if shape else ()
    spans = []
    for at, size in zip(where, shape, strict=True):
        start = 0 if at < shown else min(int(at), size - min(shown, size))
        spans.append((start, min(shown, size - start)))
    return spans
