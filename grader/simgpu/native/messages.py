"""What the host's compiler says, in the words of the compiler for the GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

SOURCE = "your kernel"  # what the compiler is told the learner's text is called

_LINE = re.compile(rf"^{SOURCE}:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)

_UNDEFINED = r'identifier "\1" is undefined'
_NO_MEMBER = r'namespace "\2" has no member "\1"'
_AMBIGUOUS = r'more than one instance of overloaded function "\1" matches the argument list'
_WORDS = [
    (r"'(?:::)?([\w:]+)' was not declared in this scope.*", _UNDEFINED),
    (r"there are no arguments to '(\w+)' that depend on a template parameter.*", _UNDEFINED),
    (r"use of undeclared identifier '(\w+)'.*", _UNDEFINED),
    (r"'(\w+)' does not name a type.*", _UNDEFINED),
    (r"'(\w+)' has not been declared", _UNDEFINED),
    (r"'(\w+)' is not a member of '(\w+)'.*", _NO_MEMBER),
    (r"no member named '(\w+)' in namespace '(\w+)'.*", _NO_MEMBER),
    (r"'(?:const )?(?:struct |class )?(\w+)'(?: \{aka .*\})? has no member named '(\w+)'.*",
     r'class "\1" has no member "\2"'),
    (r"call of overloaded '(\w+)\((.*)\)' is ambiguous", _AMBIGUOUS + r": (\2)"),
    (r"call to '(\w+)' is ambiguous", _AMBIGUOUS),
    (r"no matching function for call to '(\w+).*?\((.*)\)'.*",
     r'no instance of function "\1" matches the argument list: (\2)'),
    (r"no match for 'operator(\S+)' (?:in '.*' )?\(operand types? (?:is|are) .*",
     r'no operator "\1" matches these operands'),
    (r"too (many|few) arguments to function '.*'", r"too \1 arguments in function call"),
    (r"expected '.' or ';'.*", 'expected a ";"'),
    (r"expected '(.)'.*", r'expected a "\1"'),
    (r"invalid operands of types? '(.+)' and '(.+)' to binary 'operator([%^|&]|<<|>>)'.*",
     r'expression must have integral type: "\1" \3 "\2"'),
    (r"invalid types '(.+)\[(.+)\]' for array subscript",
     "expression must have integral or unscoped enum type"),
    (r"assignment of read-only .*", "expression must be a modifiable lvalue"),
    (r"(?:increment|decrement) of read-only .*", "expression must be a modifiable lvalue"),
    (r"lvalue required as left operand of assignment", "expression must be a modifiable lvalue"),
    (r"return-statement with a value, in function returning '.*'.*",
     "return value type does not match the function type"),
    (r"void function '.*' should not return a value.*", "return value type does not match the function type"),
    (r"cannot convert '(.+)' to '(.+)' in (?:initialization|return)",
     r'a value of type "\1" cannot be used to initialize an entity of type "\2"'),
    (r"cannot convert '(.+)' to '(.+)' in assignment",
     r'a value of type "\1" cannot be assigned to an entity of type "\2"'),
    (r"invalid conversion from '(.+)' to '(.+)'.*",
     r'a value of type "\1" cannot be used to initialize an entity of type "\2"'),
    (r"'\w+' cannot be used as a function",
     "expression preceding parentheses of apparent call must have (pointer-to-) function type"),
    (r"invalid type argument of unary '\*' \(have '(.+)'\)",
     r'operand of "*" must be a pointer but has type "\1"'),
    (r"(break|continue) statement not within (?:a )?loop.*",
     r"a \1 statement may only be used within a loop or switch"),
    (r"expected declaration before '\}' token", "expected a declaration"),
    (r"redeclaration of '(?:.* )?\*?(\w+)(?:\[.*)?'|redefinition of '(?:.* )?\*?(\w+)(?:\[.*)?'",
     r'"\1\2" has already been declared in the current scope'),
    (r"exception handling disabled.*", r"device code does not support exception handling"),
    (r"cannot use 'throw' with exceptions disabled", r"device code does not support exception handling"),
    (r"ISO C\+\+ forbids variable length array.*|variable length array.*",
     "expression must have a constant value"),
    (r"(\S+): No such file or directory", r'cannot open source file "\1"'),
    (r"#error (.*)", r"#error directive: \1"),
]  # fmt: skip


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
            return re.sub(r'(?<=\w)([*&]+")', r" \1", found.expand(words))
    return plain


def in_the_text(log: str, code: str) -> list[Line]:
    """The errors that `log` places in lines of the learner's `code`, each once."""
    lines = code.split("\n")
    found: list[Line] = []
    for match in _LINE.finditer(log):
        number, column = int(match[1]), int(match[2])
        text = lines[number - 1] if 0 < number <= len(lines) else ""
        entry = Line(number, column, text, reword(match[3]))
        if entry.message not in [e.message for e in found if e.line == number]:
            found.append(entry)
    return found
