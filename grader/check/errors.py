"""An exception of the learner's, told with their own line; compile logs cut to the lines of their kernel."""

from __future__ import annotations

import linecache
import re
import traceback

from grader.simgpu.jiterator import NoCompiler
from grader.tracebacks import is_learners

from ..exercises import Case, Exercise
from . import compile_advice, compile_log, jit_source, show
from .kernels import kernels_of
from .verdict import Reason, Told

LONGEST = 200

# (pattern on "Type: message", advice): the next thing to think about
ADVICE = (
    (
        r"\d+ of input tensors tuple is not a Tensor",
        "By position a kernel takes tensors only. Numbers go in by name: `kernel(x, alpha=alpha)`.",
    ),
    (
        r"the kernel '.*' ran out of stack",
        "It happens in the C++ text of your kernel: a function there calls itself. What ends that?",
    ),
    (
        r"the kernel '.*' reached the end of a function",
        "It happens in the C++ text of your kernel. Is there a `return` on every way through it?",
    ),
    (
        r"(?s)the kernel '.*' (reads or writes|wrote outside|stopped at)",
        "It happens in the C++ text of your kernel, not in Python. Which of its expressions can do that?",
    ),
    (
        r"AssertionError: Jiterator is only supported on CUDA",
        "The kernel was created before `import grader` switched the simulated GPU on. Run the cell with "
        "`import grader` first, then create the kernel again.",
    ),
    (
        r"TypeError: must be real number, not",
        "The keywords of a kernel are numbers, in its call and in the defaults at its creation: `alpha=1.0`, "
        "without quotes. Which one is none?",
    ),
    (r"jiterator only supports up to 8 tensor inputs", "Can some of the inputs be keywords instead?"),
    (
        r"TypeError: .*(positional argument|unexpected keyword argument|missing \d+ required|multiple values "
        r"for argument)",
        "The function is called as the signature says: `{signature}`. Compare the parameters of yours with "
        "it, their names and their order.",
    ),
    (
        r"Expected all tensors to be on the same device",
        'One tensor lives on the CPU, another on the GPU. Which one is made without device="cuda"?',
    ),
    (
        r"CUDAGuardImpl initialized with non-CUDA DeviceType",
        "The kernel was called with CPU tensors only. jiterator needs tensors on the GPU.",
    ),
    (
        r"can't convert cuda:\d+ device type tensor to numpy",
        "NumPy lives on the host. A tensor on the GPU must be copied there first: .cpu().",
    ),
    (
        r"AttributeError: 'list' object has no attribute",
        "A list of Python is not a tensor. torch.tensor(...) makes one of it.",
    ),
    (r"NameError: ", "Was the cell that defines this name run, and is it spelt the same there?"),
    (
        r"RecursionError: ",
        "Does your function call itself? A wrapper must call the kernel, which needs another name.",
    ),
    (r"Couldn't parse code", "The kernel is created inside your function, and its text cannot be read."),
    (
        r"^(SystemExit|KeyboardInterrupt|GeneratorExit)",
        "A function that is checked must return, not end the program.",
    ),
)


def describe(error: BaseException, exercise: Exercise, candidate: object, case: Case) -> Told:
    """Tell `error`, raised by a call of `candidate` on `case`."""
    text = _message(error)
    log = compile_log.read(error, text, candidate)
    if log is not None:
        return _compile(exercise, case, log)
    if isinstance(error, NoCompiler):
        return Told(Reason.RAISED, "there is no C++ compiler for the simulated GPU", (), text)
    lines = own_lines(error)
    if "Couldn't parse code" in text:
        code = text.split(":\n ", 1)[-1]
        rule = jit_source.explain(code) or "Compare it with `template <typename T> T name(T x) { ... }`."
        return Told(Reason.PARSE, "jiterator could not read your code", lines, rule[0].upper() + rule[1:])
    kind = type(error).__name__
    first = text.strip().splitlines()[0] if text.strip() not in ("", "None") else ""
    first = first if len(first) <= LONGEST else first[: LONGEST - 3] + "..."
    headline = f"{show.invocation(exercise, case)} raised {kind}" + (f": {first}" if first else "")
    told = f"{kind}: {text}"
    if unknown := re.match(r"KeyError: '(\w+) is not declared in function definition", told):
        return Told(Reason.RAISED, headline, lines, _keywords(unknown[1], candidate))
    advice = next((words for pattern, words in ADVICE if re.search(pattern, told)), "")
    advice = advice.replace("{signature}", exercise.signature.split(" ->")[0])
    return Told(Reason.RAISED, headline, lines, advice or _where_to_look(lines))


def _keywords(unknown: str, candidate: object) -> str:
    """Which keywords the learner's kernels declare, and how one is declared."""
    kernels = kernels_of(candidate)
    names = dict.fromkeys(f"`{name}`" for kernel in kernels for name in kernel.kwargs_dict)
    declared = f"; your kernel declares {', '.join(names) or 'no keyword'}" if kernels else ""
    return (
        f"The call gives `{unknown}`{declared}. A keyword is declared with its default when the kernel is "
        f"created: _create_jit_fn(code, {unknown}=default)."
    )


def _where_to_look(lines: tuple[str, ...]) -> str:
    if lines:
        return "Call your function yourself with inputs like these, and look at that line."
    return "None of your lines is named by the error. Call your function yourself with inputs like these."


def _compile(exercise: Exercise, case: Case, log: compile_log.Log) -> Told:
    headline = f"your kernel does not compile for {show.dtype_name(case.dtype)}"
    first = log.errors[0] if log.errors else None
    lines = []
    # of braces that do not match, the compiler complains somewhere behind the learner's text
    if first is not None and (first.line or not compile_advice.unbalanced(log.code)):
        lines.append(f"line {first.line}: {first.message}" if first.line else first.message)
        if first.source:
            lines.append(f"    {first.source.strip()}")
        if len(log.errors) > 1:
            lines.append(f"(and {len(log.errors) - 1} more; the first one is often the cause of the others)")
    return Told(Reason.COMPILE, headline, tuple(lines), compile_advice.advice(log, case))


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown: __str__ raised another exception)"


def own_lines(error: BaseException) -> tuple[str, ...]:
    """The learner's innermost line in the traceback, with its number; empty if none of theirs is in it."""
    try:
        frames = traceback.extract_tb(error.__traceback__)
    except Exception:
        return ()
    own = [frame for frame in frames if is_learners(frame.filename)]
    if not own or own[-1].lineno is None:
        return ()
    frame = own[-1]
    source = (frame.line or linecache.getline(frame.filename, frame.lineno)).strip()
    return (f"your line {frame.lineno}: {source}" if source else f"your line {frame.lineno}",)
