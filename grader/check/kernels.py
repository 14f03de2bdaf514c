"""The jiterator kernels that a candidate uses, as far as they can be seen from outside."""

from __future__ import annotations

import functools
import types

from torch.cuda.jiterator import _JittedFunction


def kernels_of(candidate: object) -> list[_JittedFunction]:
    """The candidate itself, or the kernels that its function names, closes over, is bound to or has as
    defaults.
    """
    if isinstance(candidate, _JittedFunction):
        return [candidate]
    if isinstance(candidate, functools.partial):
        return kernels_of(candidate.func)
    if isinstance(candidate, types.MethodType):
        return kernels_of(candidate.__func__) + [v for v in _attributes(candidate.__self__) if is_kernel(v)]
    if not isinstance(candidate, types.FunctionType):
        return [value for value in _attributes(candidate) if is_kernel(value)]
    seen = [candidate.__globals__.get(name) for name in candidate.__code__.co_names]
    seen += [cell.cell_contents for cell in candidate.__closure__ or () if _filled(cell)]
    seen += candidate.__defaults__ or ()
    return [value for value in seen if is_kernel(value)]


def is_kernel(value: object) -> bool:
    """Is `value` what _create_jit_fn returns? Such a kernel remembers nothing between its calls."""
    return type(value) is _JittedFunction


def calls_method(candidate: object, name: str) -> bool:
    """Does the candidate's own Python code name the method or attribute?"""
    return isinstance(candidate, types.FunctionType) and name in candidate.__code__.co_names


def _attributes(value: object) -> list[object]:
    try:
        return list(vars(value).values())
    except TypeError:
        return []


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
