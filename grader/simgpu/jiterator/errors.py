"""A kernel that does not compile: which lines of the learner's text, and what is wrong there.

The error is a RuntimeError, as from PyTorch, with one more attribute: `compile_log`, a list of Line.
"""

from __future__ import annotations

import re

from grader.simgpu.native.messages import SOURCE, Line, in_the_text, reword

_ELSEWHERE = re.compile(r"^[^\n]*?: (?:fatal )?error: (.*)$", re.MULTILINE)
_INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)""", re.MULTILINE)


def from_log(log: str, code: str, name: str, dtypes: str, call: str) -> RuntimeError:
    """What the compiler wrote, as an error for people. call: how the kernel is called."""
    lines, found = code.split("\n"), in_the_text(log, code)
    # A header that lies somewhere all the same asks for others: what was asked for is what there is not.
    if not found and "No such file" in log and (header := _INCLUDE.search(code)):
        number = code.count("\n", 0, header.start(1)) + 1
        found = [Line(number, 1, lines[number - 1], f'cannot open source file "{header[1]}"')]
    if not found:
        first = _ELSEWHERE.search(log)
        found = [Line(0, 0, call, reword(first[1]) if first else "does not compile")]
    return error(found, name, dtypes)


def error(found: list[Line], name: str, dtypes: str) -> RuntimeError:
    shown = []
    for e in found:
        if e.line:
            caret = " " * (e.column - 1) + "^"
            shown.append(f"{SOURCE}({e.line}): error: {e.message}\n    {e.text}\n    {caret}")
        else:
            shown.append(f"{SOURCE}: error: {e.message}\n    it is called as {e.text}")
    many = "errors" if len(found) > 1 else "error"
    count = f"{len(found)} {many} detected in the compilation of {name!r} for {dtypes}."
    failure = RuntimeError("\n".join([*shown, count]))  # the very type that PyTorch raises
    failure.compile_log = found
    return failure
