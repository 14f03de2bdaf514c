"""Rewriting kernel text so that integer arithmetic and conversions do what they do on a GPU.

C++ leaves integer division by zero, shifts by too much and conversions of NaN or huge numbers open; a GPU
does something definite, a CPU something else (or stops the process). Operators of built-in types cannot be
overloaded, but text can be respelt without parsing C++: `a / b` becomes `a * __sim::over * b`. `*` and `/`
have the same precedence and associativity, so every expression keeps its shape, and `__sim::over` brings in
the overloads of arithmetic.h. Likewise `a << b` becomes `a << __sim::shl << b`, `(int)x` becomes
`(int)(__sim::to<int>)x`, and `int n = x` becomes `int n = __sim::into<int>() |= x`. Lines stay where they
are.

The result is used only if it compiles; errors are always reported from the text as it was written.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<line>(?:(?<=\n)|\A)[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<text>"(?:\\.|[^"\\])*"|(?<![\w'])'(?:\\.|[^'\\])+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><<=|>>=|\.\.\.|->\*|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|.)""",
    re.DOTALL | re.VERBOSE,
)
_BASIC = frozenset(["int", "long", "short", "char", "unsigned", "signed"])
_NAMED = frozenset(["int8_t", "int16_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t"])
_OPERATORS = {
    "/": "* __sim::over *", "%": "* __sim::rem *", "<<": "<< __sim::shl <<", ">>": ">> __sim::shr >>",
    "/=": "*= __sim::over_by |=", "%=": "*= __sim::rem_by |=",
    "<<=": "*= __sim::shl_by |=", ">>=": "*= __sim::shr_by |=",
}  # fmt: skip
_BESIDE_POINTERS = frozenset(["*", "const", "volatile", "__restrict__", "__restrict", "restrict"])
_BEFORE_OPERAND = frozenset(["return", "else", "case", "throw"])  # words after which "(" opens no call
_NO_TYPE = frozenset(
    [
        "return", "else", "case", "throw", "goto", "new", "delete", "using", "namespace", "typename", "class",
        "struct", "template", "operator", "sizeof", "do",
    ]
)  # fmt: skip
_ANGLES = frozenset(
    [
        "template", "static_cast", "reinterpret_cast", "const_cast", "complex", "is_same", "enable_if",
        "enable_if_t", "Array",
    ]
)  # fmt: skip


def rewrite(code: str, integer: bool) -> str | None:
    """`code` with the GPU's integer semantics, or None if nothing in it can need them.

    integer: is the type that its template parameters stand for an integer?
    """
    words = set(re.findall(r"[A-Za-z_]\w*", code))
    if not integer and not words & (_BASIC | _NAMED):
        return None
    try:
        changed = _Rewriter(code, integer).run()
    except IndexError:  # unbalanced text: the compiler will say what is wrong with it
        return None
    return changed if integer or changed != code else None


class _Rewriter:
    def __init__(self, code: str, integer: bool) -> None:
        self.pieces = [(m.lastgroup, m.group()) for m in _TOKEN.finditer(code)]
        self.where = [i for i, (kind, _) in enumerate(self.pieces) if kind not in ("skip", "line")]
        self.tokens = [self.pieces[i][1] for i in self.where] + [""] * 4
        self.kinds = [self.pieces[i][0] for i in self.where] + [""] * 4
        self.n = len(self.where)
        self.out = [text for _, text in self.pieces]
        heads = re.findall(r"\btemplate\s*<([^>]*)>", code)
        params = {p for head in heads for p in re.findall(r"\b(?:typename|class)\s+(\w+)", head)}
        self.integers = _NAMED | (params if integer else set())
        self.types = _BASIC | _NAMED | params | {"float", "double", "bool"}
        self.templates = _ANGLES | set(re.findall(r"(\w+)\s*\([^()]*\)\s*\{", code))
        self.angle = self._angles()
        self.declared = self._declarations()
        self.elements = self._element_types()

    def run(self) -> str:
        self._operators()
        self._casts()
        self._conversions()
        self._element_conversions()
        self._returns()
        return "".join(self.out)

    # What the tokens are.

    def _type(self, i: int) -> int:
        """The index after the integer type that starts at token i; i if there is none."""
        j = i
        while self.tokens[j] in _BASIC:
            j += 1
        if j == i and self.tokens[i] in self.integers:
            j += 1
        return j

    def _name(self, i: int, j: int) -> str:
        return " ".join(self.tokens[i:j])

    def _starts_type(self, i: int) -> bool:
        """Can a type start at token i? (Not in the middle of one, or as a member's name.)"""
        before = self.tokens[i - 1] if i else ""
        return before not in _BASIC and before not in ("::", ".", "->", "~")

    def _ends_operand(self, i: int) -> bool:
        """Does token i end an operand, so that what follows is a binary operator or a call?"""
        if i < 0:
            return False
        kind, text = self.kinds[i], self.tokens[i]
        return (
            kind in ("number", "text")
            or text in (")", "]")
            or (kind == "word" and text not in _BEFORE_OPERAND)
        )

    def _angles(self) -> list[bool]:
        """For each token: is it inside the < > of a template?"""
        inside, depth = [], 0
        for i in range(self.n):
            text = self.tokens[i]
            if text == "<" and i and self.tokens[i - 1] in self.templates and (depth or self._closes(i)):
                depth += 1
            inside.append(depth > 0)
            if depth and text in (">", ">>"):
                depth = max(0, depth - len(text))
        return inside

    def _closes(self, i: int) -> bool:
        """Is the < at token i followed by its > within the statement?"""
        depth = 0
        for j in range(i, self.n):
            text = self.tokens[j]
            depth += (text == "<") - (text == ">") - 2 * (text == ">>")
            if depth <= 0:
                return True
            if text in (";", "{", "&&", "||"):
                return False
        return False

    def _declarations(self) -> dict[str, str]:
        """Names declared with one integer type everywhere in the text."""
        found: dict[str, set[str]] = {}
        for i in range(self.n):
            if self.kinds[i] != "word" or not self._starts_type(i) or self.tokens[i] in _NO_TYPE:
                continue
            j = self._type(i)
            name = self._name(i, j) if j > i else ""
            j = max(j, i + 1)
            while self.tokens[j] == "&":
                j += 1
            if self.kinds[j] == "word" and self.tokens[j + 1] in ("=", ";", ",", ")", "[", "{", ":"):
                found.setdefault(self.tokens[j], set()).add(name)
        return {n: t for n, types in found.items() if len(types) == 1 for t in types if t}

    def _element_types(self) -> dict[str, str]:
        """Names of pointers and arrays whose elements have one integer type everywhere in the text."""
        found: dict[str, set[str]] = {}
        for i in range(self.n):
            if self.kinds[i] != "word" or not self._starts_type(i) or self.tokens[i] in _NO_TYPE:
                continue
            j = self._type(i)
            name = self._name(i, j) if j > i else ""
            j, stars = max(j, i + 1), 0
            while self.tokens[j] in _BESIDE_POINTERS:
                stars += self.tokens[j] == "*"
                j += 1
            after = self.tokens[j + 1]
            if self.kinds[j] == "word" and (
                (stars == 1 and after in ("=", ";", ",", ")")) or (stars == 0 and after == "[")
            ):
                found.setdefault(self.tokens[j], set()).add(name)
        return {n: t for n, types in found.items() if len(types) == 1 for t in types if t}

    def _element_conversions(self) -> None:
        """`a[i] = x` and `*p = x` convert to the type of the elements."""
        for i in range(2, self.n):
            if self.tokens[i] != "=" or self.tokens[i + 1] == "{" or self.angle[i]:
                continue
            j = i - 1
            if self.tokens[j] == "]":
                while self.tokens[j] == "]":
                    j = self._opening(j, "[", "]") - 1
                before = j - 1
            elif self.tokens[j - 1] == "*":
                before = j - 2
            else:
                continue
            name = self.elements.get(self.tokens[j])
            if name and (before < 0 or self.tokens[before] in (";", "{", "}", ")", "else", ":", ",")):
                self._after(i, f" __sim::into<{name}>() |=")

    def _after(self, i: int, text: str) -> None:
        self.out[self.where[i]] += text

    # The rewriting.

    def _operators(self) -> None:
        divided = {self._operands(i) for i in range(self.n) if self.tokens[i] == "/"} - {None}
        divisors = {self._right_operand(i) for i in range(self.n) if self.tokens[i] == "/="}
        for i in range(self.n):
            new = _OPERATORS.get(self.tokens[i])
            if (
                new is None
                or self.angle[i]
                or not i
                or self.tokens[i - 1] == "operator"
                or not self._ends_operand(i - 1)
            ):
                continue
            if self.tokens[i] == "%" and self._operands(i) in divided:
                new = "* __sim::rem_paired *"
            if self.tokens[i] == "%=" and self._right_operand(i) in divisors:
                new = "*= __sim::rem_paired_by |="
            self.out[self.where[i]] = f" {new} "

    def _operands(self, i: int) -> tuple[str, str] | None:
        """The operands of the operator at token i, if both are names, numbers or parentheses, cast or not."""
        left = self._group_before(i)
        if left > 0 and self.tokens[left - 1] in ("*", "/", "%", ".", "->", "::"):
            return None
        right = self._group_after(i)
        if left == i or right == i + 1 or self.tokens[right] in ("(", "[", ".", "->", "::"):
            return None
        return self._name(left, i), self._name(i + 1, right)

    def _right_operand(self, i: int) -> str:
        """What stands between the assignment at token i and the end of the statement."""
        end = i + 1
        while end < self.n and self.tokens[end] not in (";", ",", ")", "}"):
            end += 1
        return self._name(i + 1, end)

    def _group_before(self, i: int) -> int:
        j = i - 1
        if self.tokens[j] == ")":
            j = self._opening(j)
            if self._ends_operand(j - 1):
                j -= 1
        while j >= 1 and self.tokens[j - 1] == ")" and self._is_cast(self._opening(j - 1)):
            j = self._opening(j - 1)
        return max(j, 0)

    def _group_after(self, i: int) -> int:
        j = i + 1
        while self.tokens[j] == "(" and self._is_cast(j):
            j = self._closing(j) + 1
        return self._closing(j) + 1 if self.tokens[j] == "(" else j + 1

    def _opening(self, i: int, left: str = "(", right: str = ")") -> int:
        depth = 0
        for j in range(i, -1, -1):
            depth += (self.tokens[j] == right) - (self.tokens[j] == left)
            if depth == 0:
                return j
        raise IndexError

    def _closing(self, i: int) -> int:
        depth = 0
        for j in range(i, self.n):
            depth += (self.tokens[j] in ("(", "{")) - (self.tokens[j] in (")", "}"))
            if depth == 0:
                return j
        raise IndexError

    def _is_cast(self, i: int) -> bool:
        """Is the parenthesis at token i a cast to an integer type?"""
        j = self._type(i + 1)
        if j == i + 1 or self.tokens[j] != ")":
            return False
        if self._ends_operand(i - 1) and not self._ends_cast(i - 1):
            return False
        return self.kinds[j + 1] in ("word", "number", "text") or self.tokens[j + 1] in tuple("(-+~!*&")

    def _ends_cast(self, i: int) -> bool:
        """Is token i the end of a cast to whatever type, so that no call follows it?"""
        if i < 0 or self.tokens[i] != ")":
            return False
        start = self._opening(i)
        named = self.tokens[start + 1 : i]
        return (
            bool(named)
            and all(word in self.types for word in named)
            and (not self._ends_operand(start - 1) or self._ends_cast(start - 1))
        )

    def _casts(self) -> None:
        for i in range(self.n):
            if self.tokens[i] == "(" and self._is_cast(i):
                j = self._closing(i)
                self._after(j, f"(__sim::to<{self._name(i + 1, j)}>)")
            elif self.tokens[i] == "static_cast" and self.tokens[i + 1] == "<":
                j = self._type(i + 2)
                if j > i + 2 and self.tokens[j] == ">" and self.tokens[j + 1] == "(":
                    self._replace(i, j + 1, self._name(i + 2, j))
            elif (
                not self.angle[i]
                and self._starts_type(i)
                and i
                and self.tokens[i - 1] not in (";", "{", "}", "<")
            ):
                j = self._type(i)
                if j == i + 1 and self.tokens[j] == "(" and not self._ends_operand(i - 1):
                    self._replace(i, j, self._name(i, j))

    def _replace(self, i: int, j: int, name: str) -> None:
        """Tokens i to j - 1, which name a type for a call-like conversion."""
        for k in range(i, j):
            self.out[self.where[k]] = ""
        self.out[self.where[i]] = f"({name})__sim::to<{name}>"

    def _conversions(self) -> None:
        for i in range(self.n):
            if (
                self.tokens[i + 1] != "="
                or self.kinds[i] != "word"
                or self.tokens[i + 2] == "{"
                or self.angle[i]
            ):
                continue
            name = self.declared.get(self.tokens[i])
            before = self.tokens[i - 1] if i else ""
            if name and (
                before in (";", "{", "}", ")", "(", ",", "else", "&")
                or before in _BASIC
                or before in self.integers
            ):
                self._after(i + 1, f" __sim::into<{name}>() |=")

    def _returns(self) -> None:
        """`return` converts to the function's type."""
        depth = i = 0
        while i < self.n:
            text = self.tokens[i]
            depth += (text == "{") - (text == "}")
            j = self._type(i)
            if (
                depth == 0
                and j > i
                and self._starts_type(i)
                and self.kinds[j] == "word"
                and self.tokens[j + 1] == "("
            ):
                body = self._closing(j + 1) + 1
                while self.tokens[body] not in ("{", ";", ""):
                    body += 1
                if self.tokens[body] == "{":
                    end = self._closing(body)
                    self._returns_between(body, end, self._name(i, j))
                    i = end
            i += 1

    def _returns_between(self, i: int, end: int, name: str) -> None:
        while i < end:
            if self.tokens[i] == "[" and not self._ends_operand(i - 1):  # a lambda: its returns are its own
                while self.tokens[i] != "{" and i < end:
                    i += 1
                i = self._closing(i) if i < end else i
            elif self.tokens[i] == "return" and self.tokens[i + 1] not in (";", "{"):
                self._after(i, f" __sim::into<{name}>() |=")
            i += 1
