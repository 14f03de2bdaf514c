"""From a Program to compiled code that can be called, once for each process, and once for each machine."""

from __future__ import annotations

import ctypes
import hashlib
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from grader.simgpu.jiterator import cache, compiler, errors
from grader.simgpu.jiterator.codegen import Program
from grader.simgpu.jiterator.rewrite import rewrite


@dataclass(frozen=True)
class Compiled:
    """run: the address of the loop over a kernel; cached: was it on disk already?"""

    run: int
    cached: bool
    library: ctypes.CDLL


class Runtime:
    """The functions of launch.cpp and guard.cpp."""

    def __init__(self) -> None:
        self.library = _our_library("runtime")
        self.launch = self.library.sim_launch
        self.launch.argtypes, self.launch.restype = [ctypes.c_char_p], ctypes.c_int
        self.stop_all = self.library.sim_stop_all
        self.stop_all.argtypes, self.stop_all.restype = [], ctypes.c_int


_lock = threading.Lock()
_one_at_a_time: dict[Program, threading.Lock] = {}
_compiled: dict[Program, Compiled] = {}
_runtime: Runtime | None = None
_runtime_lock = threading.Lock()
_special: ctypes.CDLL | None = None


def runtime() -> Runtime:
    global _runtime
    if _runtime is None:
        with _runtime_lock:
            if _runtime is None:
                _runtime = Runtime()
    return _runtime


def _our_library(stem: str) -> ctypes.CDLL:
    source = compiler.CPP / f"{stem}.cpp"

    def build(path: Path) -> None:
        extra = ["-frounding-math"] if stem == "special" else []
        done = compiler.run([*extra, str(source), "-o", str(path), "-lpthread"], kernel=False)
        if done.returncode:
            raise RuntimeError(
                f"The C++ compiler {compiler.command()[0]!r} cannot build the simulated GPU:\n{done.stderr}"
            )

    key = hashlib.sha256(f"{stem} {compiler.fingerprint()}".encode()).hexdigest()
    return cache.load(key, build, everywhere=True)[0]


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
    key = hashlib.sha256(f"{compiler.fingerprint()}\n{source}".encode()).hexdigest()
    helper = None
    if _runtime is None:  # the first kernel of this process: build both at once
        helper = threading.Thread(target=_quietly_start_runtime)
        helper.start()

    def build(path: Path) -> None:
        text = rewrite(program.code, program.integer)
        if text is not None and compiler.run(["-o", str(path)], program.source(text)).returncode == 0:
            return
        done = compiler.run(["-o", str(path)], source)
        if done.returncode:
            raise errors.from_log(done.stderr, program.code, program.name, dtype, program.call)

    try:
        library, cached = _load_linked(key, build)
    finally:
        if helper:
            helper.join()
    return Compiled(ctypes.cast(library.__sim_run, ctypes.c_void_p).value, cached, library)


def _quietly_start_runtime() -> None:
    try:
        runtime()
    except Exception:  # said again, to the learner, when the launch needs it
        return


def _load_linked(key: str, build) -> tuple[ctypes.CDLL, bool]:
    """Load a kernel, with the library of special functions first if it calls any."""
    global _special
    names = []

    def note(path: Path) -> None:
        build(path)
        names.extend(re.findall(rb"\0sim_(\w+)", path.read_bytes()))
        _link(names)

    known = cache.folder() / f"{key}.so"
    if known.exists():
        _link(re.findall(rb"\0sim_(\w+)", known.read_bytes()))
    return cache.load(key, note)


def _link(names: list[bytes]) -> None:
    """What a kernel calls must be there before it is loaded."""
    global _special
    own = {b"trap", b"printf", b"clock"}
    if own & set(names):
        runtime()
    if set(names) - own and _special is None:
        with _runtime_lock:
            if _special is None:
                _special = _our_library("special")
