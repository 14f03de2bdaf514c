"""How much a kernel computes for each element, read off its C++ text: operators, loops times their rounds.

An estimate for virtual time: all branches count as taken, a loop whose number of rounds is not written in the
code counts as a few.
"""

from __future__ import annotations

import functools
import re

UNKNOWN_ROUNDS = 16
# Multiply-adds that take as long.
DIVISION = 8
FUNCTIONS = {
    "sqrt": 8, "rsqrt": 4, "exp": 10, "exp2": 8, "expm1": 14, "log": 12, "log2": 10, "log1p": 16, "log10": 12,
    "tanh": 20, "sin": 20, "cos": 20, "tan": 30, "pow": 40, "erf": 24, "erfc": 30, "sinh": 24, "cosh": 24,
    "atan": 20, "atan2": 30, "asin": 20, "acos": 20, "lgamma": 60, "tgamma": 60, "fmod": 20, "fma": 1,
    "__expf": 2, "__logf": 2, "__sinf": 2, "__cosf": 2, "__powf": 4,
}  # fmt: skip
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_LOOP = re.compile(r"\b(for|while)\s*\(")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_BOUND = re.compile(r"(<=|<|>=|>|!=)\s*([\w.]+)")
_START = re.compile(r"=\s*(-?\d+)\s*;")
_STEP = re.compile(r"(?:\+=|-=)\s*(\d+)")


@functools.lru_cache(maxsize=512)
def multiply_adds(code: str) -> float:
    """Return about how many multiply-adds one call of the kernel in `code` takes, one after another."""
    text = _COMMENT.sub(" ", code)
    start = text.find("{")
    return _count(text[start:] if start >= 0 else text)


def _count(text: str) -> float:
    loop = _LOOP.search(text)
    if loop is None:
        return _straight(text)
    head_end = _closing(text, loop.end() - 1, "()")
    head = text[loop.end() : head_end]
    body_start = head_end + 1 + len(text[head_end + 1 :]) - len(text[head_end + 1 :].lstrip())
    if text[body_start : body_start + 1] == "{":
        body_end = _closing(text, body_start, "{}")
    else:
        nested = _LOOP.match(text, body_start)
        body_end = _statement_end(text, body_start, nested)
    inside = _count(text[body_start : body_end + 1])
    return _straight(text[: loop.start()]) + _rounds(head) * inside + _count(text[body_end + 1 :])


def _statement_end(text: str, start: int, nested: re.Match | None) -> int:
    """Where the statement without braces that starts there ends: a loop right inside a loop has its own."""
    if nested is not None:
        after = _closing(text, nested.end() - 1, "()") + 1
        body = after + len(text[after:]) - len(text[after:].lstrip())
        if text[body : body + 1] == "{":
            return _closing(text, body, "{}")
        return _statement_end(text, body, _LOOP.match(text, body))
    end = text.find(";", start)
    return len(text) - 1 if end < 0 else end


def _straight(text: str) -> float:
    """Code without loops. A product and a sum fuse into one multiply-add."""
    products = len(re.findall(r"(?<![*/(,=])\s*\*(?![*/])", text))
    sums = len(re.findall(r"(?<![+\-eE(,=<>*/])\s*[+\-](?![+\-])", text))
    calls = sum(
        FUNCTIONS.get(name.removesuffix("f") if name[:2] != "__" else name, 0) for name in _CALL.findall(text)
    )
    return max(products, sums) + DIVISION * len(re.findall(r"/(?!/)", text)) + calls


def _rounds(head: str) -> float:
    bound = _BOUND.search(head)
    last = _number(bound[2]) if bound else None
    if last is None:
        return UNKNOWN_ROUNDS
    start, step = _START.search(head), _STEP.search(head)
    first = float(start[1]) if start else 0.0
    rounds = abs(last - first) / (float(step[1]) if step else 1.0)
    return rounds + ("=" in bound[1] and bound[1] != "!=")


def _number(word: str) -> float | None:
    try:
        return float(word.rstrip("uUlLfF"))
    except ValueError:
        return None


def _closing(text: str, start: int, pair: str) -> int:
    """The place of the bracket that closes the one at `start`; the end of the text where none does."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == pair[0]) - (text[i] == pair[1])
        if depth == 0:
            return i
    return len(text) - 1
