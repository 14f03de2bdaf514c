"""A compiler's log, cut to the learner's own lines.

On a real GPU the message of a failed compile is the whole generated source followed by NVRTC's log, whose
line numbers count from the top of that source. On the simulated GPU the exception carries the learner's
lines already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from torch.cuda.jiterator import _JittedFunction

from .jit_source import blank_comments
from .kernels import kernels_of

SEMICOLON = re.compile(r"expected .*['\"];['\"]")
_CALL = _JittedFunction.__call__.__code__
_COMPILER_OPTION = re.compile(r"\s*\[-[fW][\w=+-]*\]")
_CONTROL = re.compile(r"\s*\}?\s*(else|elif|if|for|while|switch|do)\b")
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
    """The errors of one failed compile, those in the learner's lines first; `code` is the learner's text, ""
    if it cannot be found; `tensors` and `keywords` tell what the kernel was called with, if it is known.
    """

    errors: tuple[Fault, ...]
    code: str = ""
    tensors: int | None = None
    keywords: tuple[str, ...] = ()


def read(error: BaseException, message: str, candidate: object) -> Log | None:
    """The log in a failed compile's exception; None if the exception is something else."""
    if not isinstance(error, RuntimeError):
        return None
    codes = [kernel.code_string for kernel in kernels_of(candidate)]
    if lines := getattr(error, "compile_log", None):
        faults = [Fault(e.line or None, _plain(e.message), e.text if e.line else "") for e in lines]
    elif _NVRTC.search(message):
        faults = _nvrtc_faults(message, codes)
    else:
        return None
    faults = sorted(dict.fromkeys(faults), key=lambda fault: fault.line is None)
    code = _code_of(faults, codes)
    return Log(tuple(_where_it_is_missing(fault, code) for fault in faults), code, *_called_with(error))


def _called_with(error: BaseException) -> tuple[int | None, tuple[str, ...]]:
    """Number of tensors and names of the keywords of the kernel's call, from the traceback."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is _CALL:
            seen = trace.tb_frame.f_locals
            return len(seen["tensors"]), tuple(seen["self"].kwargs_dict)
        trace = trace.tb_next
    return None, ()


def _code_of(faults: list[Fault], codes: list[str]) -> str:
    """The text that the faults speak of: the one that has their source lines, or the only one."""
    for code in codes:
        rows = code.split("\n")
        named = [fault for fault in faults if fault.line]
        if named and all(f.line <= len(rows) and rows[f.line - 1] == f.source for f in named):
            return code
    return codes[0] if len(codes) == 1 and not any(fault.line for fault in faults) else ""


def _where_it_is_missing(fault: Fault, code: str) -> Fault:
    """A compiler that misses a semicolon at the end of a line names the next line: this names the line."""
    if not (code and fault.line and SEMICOLON.search(fault.message)):
        return fault
    rows = blank_comments(code).split("\n")
    above = next((i for i in range(fault.line - 1, 0, -1) if rows[i - 1].strip()), 0)
    if not above or not re.match(r"\s*[A-Za-z_]", rows[fault.line - 1]):
        return fault
    before = rows[above - 1]
    if not re.search(r"[\w)\]]\s*$", before) or _CONTROL.match(before):
        return fault
    source = code.split("\n")[above - 1]
    return replace(fault, line=above, source=source, message='expected a ";" at the end of this line')


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
    """One line, typographic quotes made plain, without the compiler's own options."""
    message = _COMPILER_OPTION.sub("", message.replace("\u2018", "'").replace("\u2019", "'"))
    return re.sub(r"\s+", " ", message).strip()
