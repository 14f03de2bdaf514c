"""From a Program to compiled code that can be called, once for each process, and once for each machine."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

from grader.simgpu.jiterator import errors
from grader.simgpu.jiterator.codegen import Program
from grader.simgpu.native import cache, compiler, libraries
from grader.simgpu.native.rewrite import rewrite

_HERE = Path(__file__).parent
_LAUNCH = _HERE / "cpp" / "launch.cpp"


@dataclass(frozen=True)
class Compiled:
    """run: the address of the loop over a kernel; cached: was it on disk already?"""

    run: int
    cached: bool
    library: ctypes.CDLL


class Runtime:
    """The function of launch.cpp."""

    def __init__(self) -> None:
        libraries.guard()
        self.launch = libraries.load(_LAUNCH).sim_launch
        self.launch.argtypes, self.launch.restype = [ctypes.c_char_p], ctypes.c_int


_lock = threading.Lock()
_one_at_a_time: dict[Program, threading.Lock] = {}
_compiled: dict[Program, Compiled] = {}
_runtime: Runtime | None = None
_runtime_lock = threading.Lock()


def runtime() -> Runtime:
    global _runtime
    if _runtime is None:
        with _runtime_lock:
            if _runtime is None:
                _runtime = Runtime()
    return _runtime


def compiled(program: Program, dtype: str) -> Compiled:
    """The code for `program`, compiled now if neither this process nor the disk has it.

    dtype: the common dtype, for messages. Raises RuntimeError with a `compile_log` (see errors), NoCompiler.
    """
    found = _compiled.get(program)
    if found is None:
        with _lock:
            mine = _one_at_a_time.setdefault(program, threading.Lock())
        with mine:
            found = _compiled.get(program)
            if found is None:
                found = _compiled[program] = _load(program, dtype)
    return found


def _load(program: Program, dtype: str) -> Compiled:
    source = program.source()
    key = hashlib.sha256(f"{compiler.fingerprint(_HERE)}\n{source}".encode()).hexdigest()
    helper = None
    if _runtime is None:  # the first kernel of this process: build both at once
        helper = threading.Thread(target=_quietly_start_runtime)
        helper.start()

    def build(path: Path) -> None:
        arguments = ["-I", str(_HERE / "cpp"), "-o", str(path)]
        text = rewrite(program.code, program.integer)
        if text is None or compiler.run(arguments, program.source(text)).returncode:
            done = compiler.run(arguments, source)
            if done.returncode:
                raise errors.from_log(done.stderr, program.code, program.name, dtype, program.call)
        libraries.needed_by(path.read_bytes())

    known = cache.folder() / f"{key}.so"
    try:
        if known.exists():
            libraries.needed_by(known.read_bytes())
        library, cached = cache.load(key, build)
    finally:
        if helper:
            helper.join()
    return Compiled(ctypes.cast(library.__sim_run, ctypes.c_void_p).value, cached, library)


def _quietly_start_runtime() -> None:
    with contextlib.suppress(Exception):  # said again, to the learner, when the launch needs it
        runtime()
