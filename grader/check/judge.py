"""One call's outcome: is it an answer of the right kind, and are its values right? The values come last."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ..exercises import Case, Exercise, Expected
from ..exercises.wide import wide
from . import errors, show
from .call import Outcome, expected
from .compare import Difference, difference, exact_dtype, wrapped
from .place import POISON, is_on_gpu
from .verdict import Reason


@dataclass(frozen=True, eq=False)
class Finding:
    """Something wrong with one call. `got`, `want` and `diff` are there when values were compared."""

    reason: Reason
    outcome: Outcome
    lines: tuple[str, ...] = ()
    explanation: str = ""
    headline: str = ""
    got: np.ndarray | None = None
    want: Expected | None = None
    diff: Difference | None = None


def judge(exercise: Exercise, candidate: object, outcome: Outcome) -> Finding | None:
    """The first thing wrong with this call, None if it is right."""
    if outcome.unsafe is not None:
        told = outcome.unsafe
        return Finding(told.reason, outcome, told.lines, told.explanation, told.headline)
    if outcome.error is not None:
        told = errors.describe(outcome.error, exercise, candidate, outcome.case)
        return Finding(told.reason, outcome, told.lines, told.explanation, told.headline)
    want = expected(exercise, outcome.case)
    kind = _list_kind if exercise.returns == "list" else _tensor_kind
    return kind(outcome, want) or _side_effects(exercise, outcome) or _values(exercise, outcome, want)


def _list_kind(outcome: Outcome, want: Expected) -> Finding | None:
    answer, wanted = outcome.answer, len(want.value)
    if type(answer) is not list:
        advice = "A tensor's .tolist() gives one." if isinstance(answer, torch.Tensor) else ""
        return Finding(
            Reason.NOT_A_LIST,
            outcome,
            (f"returned  {_what(answer)}",),
            f"{_none(answer)}A Python list is asked for. {advice}".strip(),
        )
    if len(answer) != wanted:
        return Finding(
            Reason.SHAPE,
            outcome,
            (f"expected  {wanted} elements", f"got       {len(answer)} elements"),
            "The list must have one number for each number given.",
        )
    odd = next((value for value in answer if type(value) not in (int, float)), None)
    if odd is not None:
        advice = (
            "list(t) gives a list of small tensors, each still on its device; t.tolist() gives numbers."
            if isinstance(odd, torch.Tensor)
            else "Each element must be a Python number."
        )
        return Finding(Reason.NOT_A_LIST, outcome, (f"returned  a list that holds {_what(odd)}",), advice)
    return None


def _tensor_kind(outcome: Outcome, want: Expected) -> Finding | None:
    case, answer, host = outcome.case, outcome.answer, outcome.host
    if host is None:
        if type(answer) is torch.Tensor:
            return Finding(
                Reason.DEVICE,
                outcome,
                ("expected  a tensor on cuda:0", f"got       {_what(answer)}"),
                "The result must stay on the GPU. Where in your function did it leave?",
            )
        return Finding(
            Reason.NOT_A_TENSOR,
            outcome,
            (f"returned  {_what(answer)}",),
            f"{_none(answer)}A GPU tensor is asked for.",
        )
    if host.dtype != case.dtype:
        return Finding(
            Reason.DTYPE,
            outcome,
            (
                f"expected  a tensor of {show.dtype_name(case.dtype)}",
                f"got       {show.dtype_name(host.dtype)}",
            ),
            "The result has another type than the inputs promote to. jiterator gives the common type of "
            "its inputs: what in your function converts?",
        )
    shape = want.value.shape
    if tuple(host.shape) != shape:
        return Finding(
            Reason.SHAPE,
            outcome,
            (f"expected  shape {list(shape)}", f"got       shape {list(host.shape)}"),
            _shape_advice(host, case),
        )
    return None


def _shape_advice(host: torch.Tensor, case: Case) -> str:
    if host.numel() == 1:
        return (
            "You return one element. Comparing must not stretch it: one result for each element is asked for."
        )
    if any(isinstance(arg, torch.Tensor) and arg.shape == host.shape for arg in case.args):
        return "The result has the shape of one input. It must have the shape to which all inputs broadcast."
    return "The result must have the shape to which the inputs broadcast."


def _side_effects(exercise: Exercise, outcome: Outcome) -> Finding | None:
    if outcome.changed is not None:
        name = parameter(exercise, outcome.changed)
        return Finding(
            Reason.INPUT_CHANGED,
            outcome,
            (f"{name} is not the same after the call.",),
            f"The caller still needs {name}. Methods with a trailing underscore (add_, mul_), `x[...] = ` "
            "and `out=` write into an existing tensor. Which line writes into an input?",
        )
    if outcome.aliased is not None and outcome.host.numel():
        name = parameter(exercise, outcome.aliased)
        return Finding(
            Reason.ALIASED,
            outcome,
            (f"The result lies in {name}'s memory.",),
            f"You return {name} itself or a view of it. Whoever changes the result would change {name}, "
            "too. The result needs memory of its own, and a kernel gives it that.",
        )
    return None


def parameter(exercise: Exercise, position: int) -> str:
    """Name of the parameter at this position of the exercise's signature."""
    inside = exercise.signature.split("(", 1)[1].split(")", 1)[0]
    return inside.split(",")[position].split("=")[0].strip()


def _values(exercise: Exercise, outcome: Outcome, want: Expected) -> Finding | None:
    dtype = outcome.case.dtype
    if outcome.host is not None:
        got = wide(outcome.host, dtype)
    elif exact_dtype(dtype):
        got = np.asarray(outcome.answer, dtype=np.float64 if _has_floats(outcome.answer) else np.int64)
    else:
        got = np.asarray(outcome.answer, dtype=np.float64)
    diff = difference(got, want, dtype, exercise.tolerance)
    if diff.first is None:
        return None
    reason = Reason.NAN_MASK if diff.nan_bad.ravel()[diff.first] else Reason.VALUE
    finding = Finding(reason, outcome, got=got, want=want, diff=diff)
    return replace(finding, reason=Reason.UNWRITTEN) if _unwritten(outcome, diff) else finding


def _has_floats(answer: list) -> bool:
    return any(type(value) is float for value in answer)


def _unwritten(outcome: Outcome, diff: Difference) -> bool:
    """Do the bad elements hold the poison that was put into free memory before the call?"""
    if outcome.host is None or outcome.case.dtype.itemsize == 1:
        return False
    raw = outcome.host.contiguous().view(-1)
    raw = (
        torch.empty(0, dtype=torch.uint8)
        .set_(raw.untyped_storage())
        .numpy()[: raw.numel() * raw.element_size()]
    )
    poisoned = (raw.reshape(-1, outcome.case.dtype.itemsize) == POISON).all(axis=1)
    return bool(poisoned[diff.bad.ravel()].any())


def expected_as_stored(finding: Finding) -> np.ndarray:
    """The expected value as the case's dtype holds it (integers wrapped), for messages."""
    dtype = finding.outcome.case.dtype
    return wrapped(finding.want.value, dtype) if exact_dtype(dtype) else finding.want.value


def _none(answer: object) -> str:
    return "Is there a `return` on every way through your function? " if answer is None else ""


def _what(value: object) -> str:
    """The kind of a value, without asking the value (its own repr or properties could say anything)."""
    if value is None:
        return "None"
    if type(value) is torch.Tensor and not is_on_gpu(value):
        where = torch.Tensor.device.__get__(value)
        return f"a {show.dtype_name(torch.Tensor.dtype.__get__(value))} tensor on the {where.type.upper()}"
    if is_on_gpu(value):
        return "a tensor on the GPU"
    if isinstance(value, torch.Tensor):
        dense = torch.Tensor.layout.__get__(value) is torch.strided
        return f"an object of the tensor subclass {type(value).__name__}" if dense else "a sparse tensor"
    return f"an object of type {type(value).__name__}"
