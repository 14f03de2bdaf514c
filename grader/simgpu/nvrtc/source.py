"""What the text of CUDA C++ says that the host's compiler must be told, or would not mind.

Comments and strings are blanked first, character for character, so that every position stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![\w'])'(?:\\.|[^'\\\n])+'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_DYNAMIC = re.compile(
    r"\bextern\s+(volatile\s+)?__shared__\s+((?:__align__\s*\([^()]*\)\s*)?[\w:\s<>,*]*?[\w>*])\s*\b(\w+)\s*\[\s*\]\s*;"
)
_DYNAMIC_BYTES = 227 * 1024
_WITH_ARGUMENTS = {
    "__launch_bounds__",
    "__maxnreg__",
    "__align__",
    "__attribute__",
    "alignas",
    "decltype",
    "noexcept",
}
_SPACES = {"__device__", "__constant__", "__shared__", "__managed__"}
_EXECUTION = {"__global__", "__device__", "__host__"}
_NO_VARIABLE = {
    "const", "constexpr", "typedef", "using", "static_assert", "struct", "class", "union", "enum", "extern",
    "template", "friend", "asm", "concept", "namespace",
}  # fmt: skip

HOST_FUNCTION = (
    "A function without execution space annotations (__host__/__device__/__global__) is considered a host "
    "function, and host functions are not allowed in JIT mode. Consider using -default-device flag to "
    "process unannotated functions as __device__ functions in JIT mode"
)
HOST_VARIABLE = (
    "A namespace scope variable without memory space annotations "
    "(__device__/__constant__/__shared__/__managed__) is considered a host variable, and host variables "
    "are not allowed in JIT mode. Consider using -default-device flag to process unannotated namespace scope "
    "variables as __device__ variables in JIT mode"
)
_NOT_VOID = "a __global__ function must have a void return type"


@dataclass(frozen=True)
class Function:
    """A function of the text. at: where its name stands; words: what stands before its name."""

    name: str
    words: frozenset[str]
    parameters: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class Mistake:
    """What the GPU's compiler refuses and the host's would not. at: position in the text."""

    at: int
    message: str


@dataclass
class Source:
    """CUDA C++, read as far as needed."""

    code: str
    functions: list[Function] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    variables: bool = False  # has it variables that outlive a launch?
    dynamic_shared: bool = False  # has it an `extern __shared__` array?

    def __post_init__(self) -> None:
        self.blanked = _DIRECTIVE.sub(_blank, _SKIPPED.sub(_blank, self.code))
        self.dynamic_shared = _DYNAMIC.search(self.blanked) is not None
        for start, head in _declarations(self.blanked):
            self._declaration(start, head)

    def _declaration(self, start: int, head: str) -> None:
        words = re.findall(r"\w+", head)
        named = _function_name(head)
        if named is None:
            self.variables |= bool(_SPACES & set(words))
            if words and not (_SPACES | _NO_VARIABLE) & set(words) and (found := _variable(head)) is not None:
                self.mistakes.append(Mistake(start + found, HOST_VARIABLE))
            return
        at, end = named
        before = frozenset(re.findall(r"\w+", head[:at]))
        name = re.match(r"\w+", head[at:])[0]
        function = Function(name, before, _parameters(head, end), start + at)
        if before & {"operator", "typedef", "using"} or not before - {"template", "typename", "class"}:
            return
        self.functions.append(function)
        if not before & _EXECUTION and "constexpr" not in before:
            self.mistakes.append(Mistake(function.at, HOST_FUNCTION))
        if "__global__" in before and not before & {"void", "auto"}:
            self.mistakes.append(Mistake(function.at, _NOT_VOID))

    def kernel(self, name: str) -> Function | None:
        """The function that the kernel name (`k`, `lib::k`, `k<float>`) means, if it is in the text."""
        bare = re.sub(r"<.*", "", name, flags=re.DOTALL).split("::")[-1].strip()
        found = [f for f in self.functions if f.name == bare]
        return next((f for f in found if "__global__" in f.words), found[0] if found else None)

    def for_the_host(self, code: str | None = None) -> str:
        """The text (or `code`, a respelling of it) with dynamic shared memory as the host declares it."""

        def declare(match: re.Match) -> str:
            kind, name = re.sub(r"__align__\s*\([^()]*\)\s*", "", (match[1] or "") + match[2]), match[3]
            many = f"[{_DYNAMIC_BYTES} / sizeof({kind})]"
            lines = "\n" * match[0].count("\n")
            return f"static {kind} (&{name}){many} = *({kind} (*){many})grid_shared_memory;{lines}"

        text = _DYNAMIC.sub(declare, self.code if code is None else code)
        return re.sub(r"\bstatic(\s+)__shared__\b", r"\1__shared__", text)


def _blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _declarations(text: str) -> Iterator[tuple[int, str]]:
    """The heads of the declarations at namespace scope, with where they start; bodies are left out."""
    i = start = depth = 0
    while i < len(text):
        c = text[i]
        depth += (c in "([") - (c in ")]")
        if depth <= 0 and c in "{;}":
            head = text[start:i]
            opens_scope = c == "{" and re.search(r"\bnamespace\b[\w\s:]*$|\bextern\s*$", head)
            if not opens_scope and head.strip():
                lead = len(head) - len(head.lstrip())
                yield start + lead, head[lead:]
            if c == "{" and not opens_scope:
                i = _after_body(text, i)
                if re.match(r"\s*;", text[i + 1 :]):
                    i = text.index(";", i)
            start, depth = i + 1, 0
        i += 1


def _after_body(text: str, i: int) -> int:
    """The index of the } that closes the { at i, or the end."""
    depth = 0
    for j in range(i, len(text)):
        depth += (text[j] == "{") - (text[j] == "}")
        if depth == 0:
            return j
    return len(text) - 1


def _function_name(head: str) -> tuple[int, int] | None:
    """Where the declared function's name stands in `head`, and where its parameters open; or None."""
    for match in re.finditer(r"(\w+)\s*\(", head):
        if match[1] in _WITH_ARGUMENTS:
            continue
        before = head[: match.start()]
        if before.count("<") > before.count(">") or "=" in before.replace("==", ""):
            return None
        if match[1] == "__attribute__" or before.count("(") > before.count(")"):
            continue
        return match.start(1), match.end()
    return None


def _variable(head: str) -> int | None:
    """Where the name of the variable that `head` declares stands."""
    match = re.match(r"[\w:<>\s*&,]+?(\w+)\s*(?:\[.*\]\s*)*(?:=.*|\{.*)?$", head, re.DOTALL)
    return match.start(1) if match and re.search(r"\w\s+[*&]*\s*\w|\w\s*[*&]\s*\w", head) else None


def _parameters(head: str, start: int) -> tuple[str, ...]:
    """The names of the parameters in `head`, whose list starts at `start`; "" for one without."""
    names, depth, last = [], 0, start
    for i in range(start, len(head)):
        c = head[i]
        depth += (c in "(<[") - (c in ")>]")
        if depth < 0 or (c == "," and depth == 0):
            text = re.sub(r"\[[^\]]*\]|=.*", "", head[last:i], flags=re.DOTALL).strip()
            name = re.search(r"(\w+)$", text)
            if text and text != "void":
                names.append(name[1] if name and len(re.findall(r"\w+", text)) > 1 else "")
            last = i + 1
            if depth < 0:
                break
    return tuple(names)
