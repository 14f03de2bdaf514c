"""What the learner calls a tensor or a stream: the variable's name, found where the work was asked for."""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections.abc import Iterator
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import memory
from grader.simgpu.order.clocks import Agent
from grader.simgpu.order.lines import Line, frame_here


def _variables() -> Iterator[tuple[str, Any]]:
    """The variables at the learner's line, the nearest first."""
    frame = frame_here()
    if frame is None:
        return
    yield from list(frame.f_locals.items())
    if frame.f_globals is not frame.f_locals:
        yield from list(frame.f_globals.items())


def _words(line: Line | None) -> set[str]:
    """The names that stand in `line`."""
    if line is None or not line.text:
        return set()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line.text).readline))
        return {t.string for t in tokens if t.type == tokenize.NAME}
    except (tokenize.TokenError, SyntaxError):
        return set()


def of_tensor(access: Any, lines: tuple[Line | None, ...]) -> str:
    """The name of the tensor behind `access`; the names that stand in `lines` come first."""
    storage = access.storage()
    found = []
    if storage is not None:
        with PlainTensors():
            for name, value in _variables():
                if not isinstance(value, torch.Tensor) or name.startswith("_"):
                    continue
                if memory.storage_of(value) is storage:
                    found.append((tuple(value.shape) != tuple(access.shape), name))
    for line in lines:
        words = _words(line)
        there = sorted((n for n in found if n[1] in words), key=lambda n: n[0])
        if there:
            return there[0][1]
    if found:
        return min(found, key=lambda n: n[0])[1]
    dtype = str(access.dtype).removeprefix("torch.")
    return f"a {dtype} tensor of shape {tuple(access.shape)}"


def of_stream(agent: Agent) -> tuple[str, str]:
    """What to call the stream of `agent` in a sentence and in code: by the variable that holds it."""
    if agent.stream_id == 0:
        return agent.name, "torch.cuda.default_stream()"
    for name, value in _variables():
        if isinstance(value, torch.Stream) and value.stream_id == agent.stream_id and name != "_":
            return f"stream {name}", name
    return agent.name, f"<{agent.name}>"


def of_freed(access: Any, line: Line | None) -> str:
    """The name that freed memory had at `line`: a name that stands there and means nothing now."""
    bound = {name for name, _ in _variables()} | set(dir(builtins)) | set(keyword.kwlist)
    gone = sorted(_words(line) - bound) if line is not None else []
    gone = [w for w in gone if not _is_attribute(w, line.text)]
    if gone:
        return gone[0]
    return of_tensor(access, ())


def _is_attribute(word: str, text: str) -> bool:
    return f".{word}" in text or f"{word}=" in text.replace(" =", "=")
