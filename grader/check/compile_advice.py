"""What to think about next when a kernel does not compile."""

from __future__ import annotations

import re

import torch

from ..exercises import Case
from .compile_log import SEMICOLON, Fault, Log
from .jit_source import blank_comments, heads

_PAIRS = (("braces", "{", "}"), ("parentheses", "(", ")"), ("brackets", "[", "]"))
_POINTER_PARAMETER = re.compile(r"\b\w+\s*\*+\s*(\w+)\s*[,)][^;{}]*\{")
_TYPE = re.compile(r"T|int|unsigned|signed|long|short|float|double|bool|char|auto|complex|\w+_t")
# words that may stand in front of another one
_WORD = re.compile(
    r"return|else|const|static|constexpr|inline|unsigned|signed|long|short|int|float|double|bool|char|auto|"
    r"void|typename|class|struct|case|new|using|namespace|template|and|or|not"
)

_NAMED_OPERATOR = re.compile(r"""(?:operator ?"?|" )(%|\^|<<|>>|\||&)["' ]""")
_OPERATOR = re.compile(r"%|\^|<<|>>|(?<!\|)\|(?!\|)|(?<!&)&(?!&)")
_OPERATORS = {
    "%": "`%` is for integers. For floats there is fmod.",
    "^": "In C++ `^` is no power: it works on the bits of integers. A power is pow(x, y), or `x * x`.",
    "|": "`|` works on the bits of integers. The logical or of two conditions is `||`.",
    "&": "`&` works on the bits of integers. The logical and of two conditions is `&&`.",
    "<<": "`<<` shifts the bits of integers. Multiply instead.",
    ">>": "`>>` shifts the bits of integers. Divide instead.",
}

# (pattern on all messages and the lines they name, advice); None: the parameters are told
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
        r"(?i)returning 'void'|void expression|void value|void function|\"void\"|type 'void'|"
        r"return (value )?type does not match",
        "`void` promises no result. The function must return the value of one element: write `T` in front "
        "of its name, and `return`.",
    ),
    (
        r"neither array nor pointer|subscripted value|pointer-to-object type",
        "Each parameter is one element already, not an array: use it without an index.",
    ),
    (
        r"expected a \":\"|expected ':'",
        "`c ? a : b` chooses between two values: behind `?` come the one, a colon, and the other.",
    ),
    (
        r"undefined|not declared|undeclared",
        "Is that name spelt as in C++, and declared inside your code? Python's names do not reach the "
        "kernel.",
    ),
)


def advice(log: Log, case: Case) -> str:
    """The next thing to think about for these errors."""
    named = [fault for fault in log.errors if fault.line]
    lines = blank_comments("\n".join(fault.source for fault in named))
    if words := unbalanced(log.code) or _comment(log) or _python(lines) or _head(log.code):
        return words
    pointer = _POINTER_PARAMETER.search(blank_comments(log.code))
    if pointer and any("*" in fault.message or "argument" in fault.message for fault in log.errors):
        name = pointer[1]
        return (
            f"Parameters are the values of one element, not pointers: write `T {name}`, and `{name}` itself "
            f"where you wrote `*{name}` or `{name}[...]`."
        )
    if named and SEMICOLON.search(named[0].message):
        return _semicolon(named[0].source, log.code)
    if words := next(filter(None, map(_operator, named)), ""):
        return words
    text = "\n".join(f"{fault.message}\n{fault.source}" for fault in log.errors)
    for pattern, words in ADVICE:
        if re.search(pattern, text):
            return words or _parameters(case, log)
    if named:
        return "Read the message together with that line: what does the compiler expect there?"
    return (
        "No line of yours is named: the error shows where your function is called, with the value of one "
        "element for each parameter. Do its parameters and its return type fit that?"
    )


def unbalanced(code: str) -> str:
    """Which braces, parentheses or brackets do not match, with their counts; "" if all do."""
    text = blank_comments(code)
    for name, left, right in _PAIRS:
        opened, closed = text.count(left), text.count(right)
        if opened != closed:
            return (
                f"The {name} do not match: {opened} open `{left}`, {closed} closed `{right}`. Which one has "
                "no partner?"
            )
    return ""


def _comment(log: Log) -> str:
    if any(
        re.search(r"preprocessing directive|stray '#'|unrecognized token", f.message)
        and "#" in f.source
        or re.match(r"\s*# ", f.source)
        for f in log.errors
    ):
        return "In C++ a comment starts with `//`, not with `#`."
    return ""


def _head(code: str) -> str:
    """What is missing in the template's or the function's parameters; "" if nothing is seen."""
    for written in re.findall(r"template\s*<([^<>]*)>", blank_comments(code)):
        first = written.split(",")[0].split()
        if first and not re.fullmatch(r"typename|class|bool|int|unsigned|auto|\w+_t", first[0]):
            return f"Write `template <typename {first[-1]}>`; yours reads `template <{written.strip()}>`."
    types = dict.fromkeys(re.findall(r"(?:typename|class|struct|using)\s+(\w+)", code))
    kind = next(iter(types), "T")
    for _, _, parameters in heads(code):
        for parameter in parameters:
            plain = re.sub(r"=.*|\bconst\b|<[^<>]*>|\w+::|[&*]", " ", parameter)
            words = plain.split()
            known = [word for word in words if word in types or _TYPE.fullmatch(word)]
            if len(words) == 1 and not known:
                return f"Each parameter needs its type: `{kind} {words[0]}`, not `{parameter}` alone."
            if known and len(words) - len(known) > 1:
                return (
                    "A comma stands between two parameters, and each needs its type; yours reads "
                    f"`{parameter}`."
                )
    return ""


def _operator(fault: Fault) -> str:
    """What the operator of this fault is for, if it is one for integers only; else ""."""
    if named := _NAMED_OPERATOR.search(fault.message):
        return _OPERATORS[named[1]]
    found = _OPERATOR.search(blank_comments(fault.source))
    return _OPERATORS[found[0]] if found and "integral" in fault.message else ""


def _python(lines: str) -> str:
    """What in these lines is Python's and not C++'s; "" if nothing is seen."""
    if re.search(r"\belif\b", lines):
        return "`elif` is Python's. C++ writes `else if (...)`."
    if re.search(r"[\w)\]](?<!\belse)[ \t]+if\b.+\belse\b", lines):
        return "This is Python's `a if c else b`. C++ writes it `c ? a : b`."
    if re.search(r"[\w)\]][ \t]*\*\*[ \t]*[\w(+-]", lines):
        return "C++ has no `**`. Multiply (`x * x`), or call pow(x, y)."
    if re.search(
        r"\b(if|while)[ \t]+(?!constexpr)[^(\s]|\b(if|while)\b[^;{}?]*\)\s*:(?!:)|\belse\s*:(?!:)", lines
    ):
        return "C++ wants the condition of an `if` in parentheses, and no colon: `if (x > 0) ...;`."
    return ""


def _semicolon(source: str, code: str) -> str:
    types = {"T", *re.findall(r"(?:typename|class)\s+(\w+)", code)}
    for first, second in re.findall(r"(?<![\w.])([\w.]+)[ \t]+(?=(\w+))", blank_comments(source)):
        if first not in types and not _WORD.fullmatch(first) and not _WORD.fullmatch(second):
            return (
                f"Something is missing between `{first}` and `{second}`: an operator (`*`, `+`, ...), or a "
                "semicolon if a statement ends there."
            )
    return "A semicolon is missing at the end of a statement on that line."


def _parameters(case: Case, log: Log) -> str:
    given = sum(isinstance(arg, torch.Tensor) for arg in case.args)
    tensors, names = (log.tensors, log.keywords) if log.tensors is not None else (given, tuple(case.kwargs))
    keywords = f" and then its keywords ({', '.join(names)})" if names else ""
    return (
        f"The kernel is called with {tensors} {'tensor' if tensors == 1 else 'tensors'}{keywords}, in this "
        "order. How many parameters does your function have, and of which types?"
        + (" (A number goes in by name: `kernel(x, alpha=alpha)`.)" if names and tensors > given else "")
    )
