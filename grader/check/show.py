"""Numbers and calls as people write them, cut to what fits on a line."""

from __future__ import annotations

import numpy as np
import torch

from ..exercises import Case, Exercise
from ..exercises.wide import wide

SHOWN = 6  # elements of a row, and rows, that are shown


def dtype_name(dtype: torch.dtype) -> str:
    """float32, not torch.float32."""
    return str(dtype).removeprefix("torch.")


def number(value: object, digits: int = 6) -> str:
    """One number, short: 2.5, -0.1, nan, inf, True, 1+2j."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (complex, np.complexfloating)):
        imaginary = number(value.imag, digits)
        return f"{number(value.real, digits)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    return f"{float(value):.{digits}g}"


def array(values: np.ndarray, digits: int = 6) -> str:
    """Nested brackets, rows and elements past the first few replaced by an ellipsis."""
    if values.ndim == 0:
        return number(values[()], digits)
    shown = [array(np.asarray(values[i]), digits) for i in range(min(SHOWN, values.shape[0]))]
    if values.shape[0] > SHOWN:
        shown.append("...")
    return f"[{', '.join(shown)}]"


def pair(left: np.ndarray, right: np.ndarray, digits: tuple[int, ...] = (6, 9, 17)) -> tuple[str, str]:
    """Two arrays with as few digits as show that they differ."""
    for count in digits:
        texts = array(left, count), array(right, count)
        if texts[0] != texts[1]:
            break
    return texts


def argument(arg: object) -> str:
    """An argument of a call: tensors and lists as brackets."""
    if isinstance(arg, torch.Tensor):
        return array(wide(arg, arg.dtype))
    return array(np.asarray(arg)) if isinstance(arg, list) else repr(arg)


def invocation(exercise: Exercise, case: Case) -> str:
    """saxpy([1, 2], [3, 4], alpha=2.5), float32 -- and how the tensors lie in memory, if that is unusual."""
    parts = [argument(arg) for arg in case.args]
    parts += [f"{name}={number(value)}" for name, value in case.kwargs.items()]
    text = f"{exercise.entry}({', '.join(parts)}), {dtype_name(case.dtype)}"
    return f"{text}; {case.layout}" if case.layout else text
