"""What an exercise is: data, an oracle, and the cases on which answers are judged.

Everything here is plain data. Running an answer and judging what it returns is `grader.check`'s work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch

from .draw import Draw


class SyllabusError(Exception):
    """An exercise is written wrongly: raised while the lessons are imported, for their author."""


@dataclass(frozen=True, eq=False)
class Case:
    """One call of the answer.

    args     CPU tensors of any strides and offset, or plain Python values; tensors are copied to the GPU
             with their whole storage, so strides and gaps survive
    kwargs   keyword arguments of the call, Python scalars
    dtype    dtype of the result
    layout   how the tensors lie in memory, in words ("" for contiguous)
    renew    place the contents in the GPU memory of the case before (same shapes): an answer remembered
             for a tensor, its address or its shape is then an old answer
    """

    args: tuple
    kwargs: dict
    dtype: torch.dtype
    layout: str = ""
    renew: bool = False


@dataclass(frozen=True, eq=False)
class Expected:
    """The right answer, wider than the case's dtype.

    value   float64 for narrower floats, longdouble for float64 (complex likewise), exact integers and bools
    scale   S: the sum of the absolute intermediate terms, same shape; None where values are exact
    """

    value: np.ndarray
    scale: np.ndarray | None = None


@dataclass(frozen=True)
class Family:
    """A named group of cases. `make(draw)` yields them, the smallest first, all from the draw's numbers.

    steady: the cases of one dtype differ in nothing that a compiler sees, so a second compile is a fault.
    """

    name: str
    make: Callable[[Draw], Iterable[Case]]
    steady: bool = False


@dataclass(frozen=True)
class Limits:
    """What is counted, on the simulated GPU. None: not judged.

    passes        bytes moved by a call, in sizes of its result
    launches      kernels started by a call, at most
    min_launches  kernels started by a call on a non-empty input, at least
    compiles      compiles of a steady family, for each dtype
    creates       kernels created during the calls of a whole check
    """

    passes: float | None = None
    launches: int | None = None
    min_launches: int = 1
    compiles: int | None = None
    creates: int | None = None


@dataclass(frozen=True)
class Variant:
    """A wrong answer that people often give: `value(case)` is what it computes, `says` names the mistake."""

    says: str
    value: Callable[[Case], np.ndarray]


@dataclass(frozen=True)
class Exercise:
    """One exercise. `kind` jiterator: each call starts one jiterator kernel; function: any Python function.

    `signature` starts with the name that the answer cell defines; `returns` is what a call must return.
    `solution` and `starter` are the source text inside the answer cell, with and without the answer.
    """

    id: str
    lesson: int
    title: str
    task: str
    signature: str
    dtypes: tuple[torch.dtype, ...]
    promised: str
    families: tuple[Family, ...]
    oracle: Callable[[Case], Expected]
    tolerance: float
    limits: Limits
    kind: Literal["jiterator", "function"]
    torch_ops_allowed: bool
    hints: tuple[str, str, str]
    points: int
    solution: str
    starter: str
    variants: tuple[Variant, ...] = ()
    returns: Literal["tensor", "list"] = "tensor"
    entry: str = field(init=False)

    def __post_init__(self):
        name = re.match(r"[A-Za-z_]\w*(?=\()", self.signature)
        if name is None:
            raise SyllabusError(
                f"{self.id}: the signature must read name(...) -> ..., got {self.signature!r}"
            )
        object.__setattr__(self, "entry", name.group())
        for complaint in self._complaints():
            raise SyllabusError(f"{self.id}: {complaint}")

    def _complaints(self):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.id):
            yield "an id is made of small letters, digits and single hyphens"
        if not re.search(rf"\b{self.entry}\b", self.task):
            yield f"the task does not name the function `{self.entry}` of the signature"
        if "->" not in self.signature:
            yield "the signature does not say what is returned (`-> ...`)"
        if len(self.hints) != 3 or not all(isinstance(h, str) and h.strip() for h in self.hints):
            yield "exactly three hints are needed, none of them empty"
        if not self.families:
            yield "there is not one case family"
        if len({family.name for family in self.families}) != len(self.families):
            yield "two case families have the same name"
        if not self.dtypes:
            yield "no dtype is promised"
        if self.tolerance < 0 or self.points < 1:
            yield "tolerance must not be negative, and an exercise is worth at least one point"
        for part in ("solution", "starter"):
            if not re.search(rf"^(def {self.entry}\b|{self.entry}\s*=)", getattr(self, part), re.MULTILINE):
                yield f"the {part} does not define `{self.entry}`"
        if self.limits.compiles is not None and not any(family.steady for family in self.families):
            yield "compiles are limited, but no family is steady, so none would be counted"
