"""What the simulated GPU finds unsafe during a call: races, unordered work, accesses outside memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from grader import simgpu
from grader.simgpu import lost, order
from grader.simgpu.grid.faults import KernelFault

from .verdict import Reason, Told

# The form that all of them share: the reason, what happened (its first line is the headline), advice.
_FORM = re.compile(r"UNSAFE \((?P<reason>\w+)\)   (?P<headline>.*)")


def told(found: Sequence[order.Finding], error: BaseException | None = None) -> Told | None:
    """The first thing found, or what ended a launch (`error`); None if nothing was unsafe."""
    texts = [finding.text for finding in found]
    if isinstance(error, KernelFault):
        texts.append(str(error))
    if not texts:
        return None
    first, *lines, advice = texts[0].splitlines()
    form = _FORM.fullmatch(first)
    return Told(Reason(form["reason"]), form["headline"], tuple(lines), advice)


def raise_late_errors() -> None:
    """Raise what a kernel of the call did to the device, which a GPU says only when it is used again."""
    if simgpu.is_simulated():
        lost.check()
    elif torch.cuda.is_available():
        torch.cuda.synchronize()


def settle() -> None:
    """End the call: all its work is over, what nothing ordered is found, and the device is whole again."""
    if simgpu.is_simulated():
        lost.heal()
        torch.cuda.synchronize()
