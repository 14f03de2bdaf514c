"""Reading a learner's jiterator source: which rule of the parser it breaks, and literals that are double."""

from __future__ import annotations

import re

from torch.cuda.jiterator import _CodeParser

_NUMBER = re.compile(
    r"(?<![\w.])(?:0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?|\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
    r"(?![\w.])"
)
_FIXED = ("float", "double", "int")
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.DOTALL)


def blank_comments(code: str) -> str:
    """The same text with comments and string literals replaced by spaces; lines and columns stay."""
    return _COMMENT_OR_STRING.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), code)


def explain(code: object) -> str | None:
    """Which rule of jiterator's parser `code` breaks, in one or two sentences; None if it will be read.

    That it is read does not mean that it compiles.
    """
    if not isinstance(code, str):
        if callable(code):
            return (
                "jiterator takes the text of a C++ function, in quotes. This is a Python function: it "
                "cannot be translated. Write its body in C++."
            )
        return f"jiterator takes a string of C++, not a value of type {type(code).__name__}."
    try:
        _CodeParser(code)
    except Exception:
        return _broken_rule(code)
    return None


def _broken_rule(code: str) -> str:
    text = code.lstrip()
    line = code[: len(code) - len(text)].count("\n") + 1
    must = "your code must start with `template`"
    if not text:
        return f"{must}; the string is empty."
    if text.startswith(("//", "/*")):
        return f"{must}. Yours starts with a comment (line {line}). Move the comment inside the body."
    if text.startswith("#include"):
        return (
            f"{must}. Yours starts with #include (line {line}). No header can be included; the math "
            "functions (exp, tanh, sqrt, ...) are there without one."
        )
    if text.startswith("#"):
        return (
            f"{must}. Yours starts with a preprocessor line (line {line}). Write a constant inside the "
            "body instead."
        )
    qualifier = re.match(r"(__device__|__global__|__host__|inline|static|extern|constexpr)\b", text)
    if qualifier:
        return (
            f"{must}. Yours starts with `{qualifier[1]}` (line {line}). Leave it out: jiterator writes the "
            "kernel around your function itself."
        )
    if text.startswith(("def ", "lambda ")):
        return f"{must}. Yours is Python; the string must hold C++."
    if not text.startswith("template"):
        start = text.split("\n", 1)[0][:30]
        return (
            f"{must}. Yours starts with `{start}` (line {line}). Put `template <typename T>` in front, and "
            "use T as the type of elements."
        )
    return _broken_after_template(blank_comments(text))


def _broken_after_template(text: str) -> str:
    parameters = re.match(r"template\s*<[^<>]+>", text)
    if parameters is None:
        return "`template` needs its parameters in angle brackets: `template <typename T>`."
    rest = text[parameters.end() :].lstrip()
    head = rest.split("(", 1)[0].strip()
    if "(" not in rest:
        return (
            "behind `template <...>` a function is expected: a return type, a name, parameters in "
            "parentheses, a body."
        )
    words = re.findall(r"\w+", head)
    if re.search(r"[&*]", head):
        return (
            f"the return type `{re.sub(r'[ ]*[a-zA-Z_0-9]+$', '', head)}` is a reference or pointer. "
            "jiterator reads a single word: return by value, `T`."
        )
    if "<" in head or ":" in head:
        return (
            f"the return type in `{head}` is not a single word, which is all that jiterator reads. Return "
            "`T`."
        )
    if len(words) < 2:
        return f"`{head}(...)` has no return type. Write `T {head or 'name'}(...)`."
    if len(words) > 2:
        return (
            f"the return type `{' '.join(words[:-1])}` has several words. jiterator reads exactly one: "
            "return `T` (or `int64_t`, `float`, ...)."
        )
    if re.search(r"\(\s*\)", rest):
        return (
            f"`{words[-1]}()` takes no parameter. It needs one for each input tensor: `{words[-1]}(T x, "
            "...)`."
        )
    if "{" not in rest:
        return "the body is missing: behind the parameters, the opening brace `{` is not there."
    if "}" not in rest:
        return "the closing brace `}` of the body is missing."
    if re.search(r"\{\}\s*;?\s*$", rest):
        return "the body `{}` is empty. It must return something."
    return (
        "jiterator reads `template <typename T> T name(T x, ...) { ... }`, and your code does not have "
        "this form. Compare it piece by piece."
    )


def heads(code: str) -> list[tuple[str, str, list[str]]]:
    """Return type, name and parameters of each function template in `code`, as they are written."""
    found = re.finditer(
        r"template\s*<[^<>]*>\s*([\w:<>&*\s]*?)\s*\b(\w+)\s*\(([^()]*)\)\s*\{", blank_comments(code)
    )
    return [
        (head[1], head[2], [" ".join(part.split()) for part in re.split(r",(?![^<>]*>)", head[3])])
        for head in found
    ]


def fixed_type(code: str, function: str, tensors: int) -> str | None:
    """Where float, double or int stands in place of T in the head of `function`, whose first `tensors`
    parameters are elements; None if it does nowhere.
    """
    for returned, name, parameters in heads(code):
        if name != function:
            continue
        if returned in _FIXED:
            return f"`{name}` returns `{returned}`, whatever the type of the elements. Write `T` there."
        for parameter in parameters[:tensors]:
            if parameter.split(" ")[0] in _FIXED:
                return (
                    f"`{parameter}` makes a {parameter.split(' ')[0]} of every element, whatever its type. "
                    "Write `T` there."
                )
    return None


def double_literals(code: str) -> list[tuple[int, str]]:
    """Line number and text of each literal that makes a float computation double (`0.5 * x`).

    Left out: literals with the suffix f, in a conversion that holds nothing else (`T(0.5)`), and those
    that are converted at once (`T c = 0.5;`, a default `T c = 0.5`, `return 0.5;`).
    """
    text = blank_comments(code)
    types = "|".join({"T", "float", "double", *re.findall(r"(?:typename|class)\s+(\w+)", text)})
    constant = r"[-+*/\s().\deE]*"
    covered = [
        found.span()
        for pattern in (
            rf"\b(?:{types})\s*[({{]{constant}[)}}]",
            rf"static_cast\s*<\s*(?:{types})\s*>\s*\({constant}\)",
            rf"\((?:{types})\)\s*{_NUMBER.pattern}",
            rf"\b(?:{types})\s+\w+\s*=\s*[-+]?{_NUMBER.pattern}\s*[;,)]",
            rf"\breturn\s+[-+]?{_NUMBER.pattern}\s*;",
        )
        for found in re.finditer(pattern, text)
    ]
    literals = []
    for found in _NUMBER.finditer(text):
        is_float = not found.group().lower().startswith("0x") or "p" in found.group().lower()
        if is_float and not any(start <= found.start() < end for start, end in covered):
            literals.append((text.count("\n", 0, found.start()) + 1, found.group()))
    return literals


def assignment_warning(code: str) -> str | None:
    """One sentence on the first condition of `code` that assigns (`if (x = 0)`), None if there is none."""
    text = blank_comments(code)
    found = re.search(r"\b(?:if|while)\s*\(\s*(\w+)\s*=(?!=)[^;{}()]*\)", text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return (
        f"line {line} of your kernel: `{found[0]}` gives {found[1]} a new value. Was `==`, which compares, "
        "meant?"
    )


def double_warning(code: str) -> str | None:
    """One sentence on the double literals of `code`, None if there are none."""
    literals = double_literals(code)
    if not literals:
        return None
    line, number = literals[0]
    more = f" (and {len(literals) - 1} more)" if len(literals) > 1 else ""
    return (
        f"line {line} of your kernel: `{number}` is a double{more}, so the arithmetic around it is done in "
        f"double, slowly, even when T is float. Write T({number})."
    )
