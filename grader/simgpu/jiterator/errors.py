"""A kernel that does not compile: which lines of the learner's text, and what is wrong there.

The error is a RuntimeError, as from PyTorch, with one more attribute: `compile_log`, a list of Line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SOURCE = "your kernel"  # what the compiler is told the learner's text is called

_LINE = re.compile(rf"^{SOURCE}:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^[^\n]*?: (?:fatal )?error: (.*)$", re.MULTILINE)

# The host compiler's words, in those of the compiler for the GPU.
_UNDEFINED = r'identifier "\1" is undefined'
_NO_MEMBER = r'namespace "\2" has no member "\1"'
_AMBIGUOUS = r'more than one instance of overloaded function "\1" matches the argument list'
_WORDS = [
    (r"'(?:::)?([\w:]+)' was not declared in this scope.*", _UNDEFINED),
    (r"there are no arguments to '(\w+)' that depend on a template parameter.*", _UNDEFINED),
    (r"use of undeclared identifier '(\w+)'.*", _UNDEFINED),
    (r"'(\w+)' does not name a type.*", _UNDEFINED),
    (r"'(\w+)' is not a member of '(\w+)'.*", _NO_MEMBER),
    (r"no member named '(\w+)' in namespace '(\w+)'.*", _NO_MEMBER),
    (r"call of overloaded '(\w+)\((.*)\)' is ambiguous", _AMBIGUOUS + r": (\2)"),
    (r"call to '(\w+)' is ambiguous", _AMBIGUOUS),
    (r"no matching function for call to '(\w+).*?\((.*)\)'.*",
     r'no instance of function "\1" matches the argument list: (\2)'),
    (r"expected '(.)' before.*", r'expected a "\1"'),
    (r"invalid operands of types? '(.+)' and '(.+)' to binary 'operator([%^|&]|<<|>>)'.*",
     r'expression must have integral type: "\1" \3 "\2"'),
    (r"exception handling disabled.*", r"device code does not support exception handling"),
    (r"(\S+): No such file or directory", r'cannot open source file "\1"'),
]  # fmt: skip
_INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)""", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """One error. line: counted from 1 in the learner's text, 0 if it is about the call of the kernel as a
    whole; column: from 1; text: that line; message: what is wrong."""

    line: int
    column: int
    text: str
    message: str


def reword(message: str) -> str:
    plain = message.replace("‘", "'").replace("’", "'")
    for pattern, words in _WORDS:
        found = re.fullmatch(pattern, plain, re.DOTALL)
        if found:
            return found.expand(words)
    return plain


def from_log(log: str, code: str, name: str, dtypes: str, call: str) -> RuntimeError:
    """What the compiler wrote, as an error for people. call: how the kernel is called."""
    lines = code.split("\n")
    found = []
    for match in _LINE.finditer(log):
        number, column = int(match[1]), int(match[2])
        text = lines[number - 1] if 0 < number <= len(lines) else ""
        entry = Line(number, column, text, reword(match[3]))
        if entry.message not in [e.message for e in found if e.line == number]:
            found.append(entry)
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
