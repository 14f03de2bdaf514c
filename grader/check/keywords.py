"""The pattern of a keyword that has no effect: one number is used whatever the call says."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..exercises import Case
from .call import expected
from .compare import difference
from .jit_source import blank_comments
from .kernels import is_kernel, kernels_of
from .matching import Clues, is_always
from .show import number
from .verdict import Reason

MOST = 12  # numbers that are tried
LARGEST = 4096  # elements of a right answer that a constant must explain
_LITERAL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def unused_keyword(clues: Clues) -> Iterator:
    """A default or a constant in the code that is always used; or a keyword remembered from another call."""
    names = dict.fromkeys(
        name for case in (*clues.passing, *(f.outcome.case for f in clues.alike)) for name in case.kwargs
    )
    kernels = kernels_of(clues.candidate)
    for name in names:
        defaults = [k.kwargs_dict[name] for k in kernels if type(k.kwargs_dict.get(name)) in (int, float)]
        given = [case.kwargs[name] for case in clues.passing if name in case.kwargs]
        literals = _literals(clues.candidate)
        for value in dict.fromkeys([*defaults, *literals][:MOST]):
            if _always(clues, name, value) and _fits(clues, name, value):
                yield None, f"{_no_effect(name, value)} {_why(clues, name, value in defaults)}"
        for value in dict.fromkeys(given[:MOST]):
            if _always(clues, name, value) and is_kernel(clues.candidate):
                yield None, f"{_no_effect(name, value)} {_why(clues, name, False)}"
            elif _always(clues, name, value):
                yield (
                    Reason.REMEMBERED,
                    f"These values are right for {name}={number(value)}, which an earlier call gave: the "
                    "function remembers it. What does it keep between calls?",
                )


def _no_effect(name: str, value: float) -> str:
    return f"{name} has no effect: {number(value)} is always used, whatever the call says."


def _why(clues: Clues, name: str, is_default: bool) -> str:
    if is_default and not is_kernel(clues.candidate):
        return f"Does your call hand {name} to the kernel, by name: `{name}={name}`?"
    return f"Where does your code use {name}?"


def _literals(candidate: object) -> list[float]:
    """Numbers written in the answer's C++ and Python code, each with both signs."""
    texts = [blank_comments(kernel.code_string) for kernel in kernels_of(candidate)]
    written = [float(text) for code in texts for text in _LITERAL.findall(code)]
    if isinstance(candidate, types.FunctionType):
        written += [c for c in candidate.__code__.co_consts if type(c) in (int, float)]
    return [signed for value in written for signed in (value, -value)]


def _with(case: Case, name: str, value: float) -> Case:
    return replace(case, kwargs={**case.kwargs, name: value})


def _always(clues: Clues, name: str, value: float) -> bool:
    return is_always(
        clues.exercise,
        clues.alike,
        lambda f: expected(clues.exercise, _with(f.outcome.case, name, value)).value,
    )


def _fits(clues: Clues, name: str, value: float) -> bool:
    """Does the constant also give the right values in the calls that were right?"""
    for case in clues.rivals:
        want = expected(clues.exercise, case)
        if want.value.size > LARGEST:
            continue
        constant = np.asarray(expected(clues.exercise, _with(case, name, value)).value)
        if difference(constant, want, case.dtype, clues.exercise.tolerance).first is not None:
            return False
    return True
