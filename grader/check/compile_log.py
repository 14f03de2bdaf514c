"""A compiler's log, cut to the learner's own lines.

On a real GPU the message of a failed compile is the whole generated source followed by NVRTC's log, whose
line numbers count from the top of that source. On the simulated GPU the exception carries the learner's
lines already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from ..exercises import Case
from .kernels import kernels_of

_NVRTC = re.compile(r"^\S*?\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """One error: the learner's line number (None if it lies outside their code), the message, their source
    line.
    """

    line: int | None
    message: str
    source: str = ""


@dataclass(frozen=True)
class Log:
    """The errors of one failed compile, those in the learner's lines first."""

    errors: tuple[Fault, ...]


def read(error: BaseException, message: str, candidate: object) -> Log | None:
    """The log in a failed compile's exception; None if the exception is something else."""
    if not isinstance(error, RuntimeError):
        return None
    if lines := getattr(error, "compile_log", None):
        faults = [Fault(e.line or None, _plain(e.message), e.text if e.line else "") for e in lines]
    elif _NVRTC.search(message):
        faults = _nvrtc_faults(message, [kernel.code_string for kernel in kernels_of(candidate)])
    else:
        return None
    return Log(tuple(sorted(dict.fromkeys(faults), key=lambda fault: fault.line is None)))


def _nvrtc_faults(message: str, codes: list[str]) -> list[Fault]:
    rows, above = next(filter(None, (_find(message, code) for code in codes)), ([], 0))
    faults = []
    for found in _NVRTC.finditer(message):
        line = int(found[1]) - above
        inside = 0 < line <= len(rows)
        faults.append(Fault(line if inside else None, _plain(found[2]), rows[line - 1] if inside else ""))
    return faults


def _find(message: str, code: str) -> tuple[list[str], int] | None:
    """The lines of `code` and how many lines stand above it in the message, where it is indented anew."""
    rows = code.splitlines()
    wanted, lines = [row.strip() for row in rows], [line.strip() for line in message.splitlines()]
    starts = (i for i in range(len(lines)) if lines[i : i + len(wanted)] == wanted)
    above = next(starts, None)
    return None if above is None else (rows, above)


def _plain(message: str) -> str:
    """One line, typographic quotes made plain."""
    return re.sub(r"\s+", " ", message.replace("\u2018", "'").replace("\u2019", "'")).strip()


# (pattern on all messages and the code, advice)
ADVICE = (
    (
        r"no instance of function.* matches the argument list|no matching function for call to|too "
        r"(many|few) arguments",
        None,
    ),
    (
        r"std::max|std::min|'(max|min)' is not a member of 'std'|namespace \"std\" has no member "
        r"\"(max|min)\"",
        "std::max and std::min do not exist here. `::max` and `::min` do; what do they return for a NaN?",
    ),
    (r"M_PI", "M_PI does not exist here. Write the number: T(3.141592653589793)."),
    (r"\bu?int(8|16|32)_t", "Of the sized integers only int64_t exists here. `int` has 32 bits."),
    (r"numeric_limits", "std::numeric_limits does not exist here. INFINITY and NAN do."),
    (
        r"#include|cannot open source file|No such file",
        "No header can be included; the math functions are there without.",
    ),
    (
        r"ambiguous|more than one instance of overloaded",
        "The compiler cannot choose between several versions of that function. For an integer T: convert "
        "the argument first, to the type you mean.",
    ),
    (
        r"expected (a )?['\"]?;",
        "A semicolon is missing at the end of a statement, usually on the line named or the one before.",
    ),
    (
        r"must (be|have) integral|invalid operands .*operator%|operator ?%",
        "`%` is for integers. For floats there is fmod.",
    ),
    (
        r"undefined|not declared|undeclared",
        "Is that name spelt as in C++, and declared inside your code? Python's names do not reach the "
        "kernel.",
    ),
)


def advice(log: Log, case: Case) -> str:
    """The next thing to think about for these errors."""
    text = "\n".join(f"{fault.message}\n{fault.source}" for fault in log.errors)
    for pattern, words in ADVICE:
        if re.search(pattern, text):
            return words or _parameters(case)
    return "Read the message together with that line: what does the compiler expect there?"


def _parameters(case: Case) -> str:
    tensors = sum(isinstance(arg, torch.Tensor) for arg in case.args)
    keywords = f" and then its keywords ({', '.join(case.kwargs)})" if case.kwargs else ""
    return (
        f"The kernel is called with {tensors} {'tensor' if tensors == 1 else 'tensors'}{keywords}, in this "
        "order. How many parameters does your function have, and of which types?"
    )
