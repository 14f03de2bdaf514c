"""CUDA C++ that does not compile: the log that NVRTC would write, as far as the host's compiler knows it."""

from __future__ import annotations

import dataclasses
import re

from grader.simgpu.native.messages import Line, in_the_text, reword
from grader.simgpu.nvrtc.source import HOST_VARIABLE, Mistake, Source

_NAME_MAP = (
    "__nv_name_map(2): error: {message}\n  #pragma nv_mangled_name {name}\n                          ^\n"
)
_AT_END = re.compile(
    r"^(?:generated|your kernel):\d+:\d+: error: expected '(.)' at end of input", re.MULTILINE
)
_ANY = re.compile(r"^[^\n]*?: (?:fatal )?error: (.*)$", re.MULTILINE)
_LOOKUP = 'Error in parsing name expression for lowered name lookup. Input name expression was: " {}"'
_MOST = 20


def failure(log: str) -> RuntimeError:
    """The error that `torch.cuda._compile_kernel` raises."""
    return RuntimeError(f"Kernel compilation failed:\n{log}")


def from_text(source: Source, name: str) -> RuntimeError | None:
    """What is wrong for the GPU's compiler only, or None: where functions live, the kernel's name."""
    found = [_line(source, mistake) for mistake in source.mistakes]
    kernel = source.kernel(name)
    named = []
    if kernel is not None and "__global__" not in kernel.words:
        named = [
            f"Name expression cannot form address of a non-__global__ function. Input name expression "
            f'was: " {name}"'
        ]
    return failure(_log(found, named, name)) if found or named else None


def _line(source: Source, mistake: Mistake) -> Line:
    number = source.code.count("\n", 0, mistake.at) + 1
    start = source.code.rfind("\n", 0, mistake.at) + 1
    return Line(number, mistake.at - start + 1, source.code.split("\n")[number - 1], mistake.message)


def from_compiler(log: str, source: Source, name: str) -> RuntimeError:
    """What the host's compiler wrote about the learner's text."""
    reworded = [dataclasses.replace(e, message=_as_nvrtc(e)) for e in in_the_text(log, source.code)]
    found = list({(e.line, e.message): e for e in reversed(reworded)}.values())[::-1]
    if "invalid 'asm'" in log or "Assembler messages" in log:
        return failure(
            "the simulated GPU runs on this machine's processor and cannot execute inline PTX (asm). A "
            "real GPU can."
        )
    if found and found[0].message.startswith("variable or field"):
        return failure(_log(_no_such_type(found, source), [_LOOKUP.format(name)], name))
    closing = _AT_END.search(log)
    if closing:
        found = [
            e for e in found if "at end of input" not in e.message and e.line <= source.code.count("\n") + 1
        ]
        return failure(_log(found, [], name, at_end=f'expected a "{closing[1]}"'))
    if found:
        return failure(_log(found, [], name))
    if source.kernel(name) is None:
        return failure(_log([], [f'identifier "{name}" is undefined', _LOOKUP.format(name)], name))
    if re.search("unresolved overloaded function type|no match", log):
        return failure(
            _log([], [f'cannot determine which instance of function template "{name}" is intended'], name)
        )
    other = _ANY.search(log)
    return failure(_log([], [reword(other[1]) if other else "does not compile"], name))


def _no_such_type(found: list[Line], source: Source) -> list[Line]:
    """A kernel whose parameters have an unknown type is taken for a variable: what NVRTC says of that."""
    number, text = found[0].line, found[0].text
    at, name = text.find("__global__") + 1, found[0].column
    said = [
        (at, 'attribute "__global__" does not apply here'),
        (name, HOST_VARIABLE),
        (name, 'incomplete type "void" is not allowed'),
    ]
    return [Line(number, column, text, message) for column, message in said if column] + found[1:]


def _as_nvrtc(e: Line) -> str:
    """Where the host's compiler knows less of the GPU than its message shows."""
    if "<<<" in e.text and "expected primary-expression" in e.message:
        return (
            "device-side kernel launch could not be processed as the required runtime APIs are not declared"
        )
    called = re.match(r"(atomic\w+)\s*\(", e.text[e.column - 1 :]) or re.search(
        r"(atomic\w+)\s*\([^;]*$", e.text[: e.column]
    )
    if called and e.message.startswith(("no instance of function", "a value of type")):
        return f'no instance of overloaded function "{called[1]}" matches the argument list'
    return e.message


def too_much_shared(name: str, size: int, most: int) -> RuntimeError:
    return failure(
        f"ptxas error   : Entry function '{name}' uses too much shared data (0x{size:x} bytes, "
        f"0x{most:x} max)\n"
    )


def _log(found: list[Line], named: list[str], name: str, at_end: str = "") -> str:
    for e in found:
        if e.message.startswith(("cannot open source file", "#error directive")):
            shown = (
                f"{name}.cu({e.line}): catastrophic error: {e.message}\n  {e.text}\n{' ' * (e.column + 1)}^\n"
            )
            return (
                f'{shown}\n1 catastrophic error detected in the compilation of "{name}.cu".\nCompilation '
                f"terminated.\n"
            )
    shown = [
        f"{name}.cu({e.line}): error: {e.message}\n  {e.text}\n{' ' * (e.column + 1)}^\n"
        for e in found[:_MOST]
    ]
    shown += [_NAME_MAP.format(message=message, name=name) for message in named]
    shown += [f"At end of source: error: {at_end}\n"] if at_end else []
    many = "error" if len(shown) == 1 else "errors"
    return "\n".join([*shown, f'{len(shown)} {many} detected in the compilation of "{name}.cu".\n'])
