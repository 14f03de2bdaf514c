"""Our own C++ sources as libraries: built once for each machine, loaded once for each process.

`build_all()` builds them ahead, as `python -m grader.simgpu.native` does.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from grader.simgpu.native import cache, compiler

SPECIAL = compiler.CPP / "special.cpp"
_GUARD = compiler.CPP / "guard.cpp"
_SIMGPU = Path(__file__).parent.parent
_ALL = (  # those that take longest first
    _SIMGPU / "grid" / "cpp" / "grid.cpp",
    _SIMGPU / "numba" / "cpp" / "libdevice.cpp",
    SPECIAL,
    _SIMGPU / "jiterator" / "cpp" / "launch.cpp",
    _SIMGPU / "numba" / "cpp" / "device.cpp",
    _GUARD,
)
_IN_GUARD = {b"trap", b"printf", b"clock"}


@dataclass
class _Loaded:
    """Every library of ours that this process has."""

    libraries: dict[Path, ctypes.CDLL] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    one_at_a_time: dict[Path, threading.Lock] = field(default_factory=dict)


_loaded = _Loaded()


def _after_fork() -> None:
    """In a child: whoever held a lock here, building ahead, has stayed behind in the parent."""
    _loaded.lock = threading.Lock()
    _loaded.one_at_a_time.clear()


os.register_at_fork(after_in_child=_after_fork)


def load(source: Path) -> ctypes.CDLL:
    """The library of `source`; its functions can be called by every library loaded later.

    Raises NoCompiler, and RuntimeError with the compiler's words if it cannot be built here.
    """
    found = _loaded.libraries.get(source)
    if found is None:
        with _one_at_a_time(source):
            found = _loaded.libraries.get(source)
            if found is None:
                found = _loaded.libraries[source] = cache.load(*_recipe(source), everywhere=True)[0]
    return found


def build(*sources: Path) -> None:
    """Build the libraries of `sources` that are not on disk yet, all at once. Raises as `load` does."""

    def one(source: Path) -> None:
        with _one_at_a_time(source):
            cache.store(*_recipe(source))

    with ThreadPoolExecutor(len(sources)) as pool:
        list(pool.map(one, sources))


def build_all() -> None:
    """Build everything that launches of kernels need. Raises as `load` does."""
    build(*_ALL)


def _one_at_a_time(source: Path) -> threading.Lock:
    with _loaded.lock:
        return _loaded.one_at_a_time.setdefault(source, threading.Lock())


def _recipe(source: Path) -> tuple[str, Callable[[Path], None]]:
    """What the library is called on disk, and what builds it."""

    def build(path: Path) -> None:
        extra = ["-frounding-math"] if source == SPECIAL else []
        done = compiler.run(
            [*extra, "-I", str(compiler.CPP), str(source), "-o", str(path), "-lpthread"], kernel=False
        )
        if done.returncode:
            raise RuntimeError(
                f"The C++ compiler {compiler.command()[0]!r} cannot build the simulated GPU:\n{done.stderr}"
            )

    key = hashlib.sha256(f"{source.stem} {compiler.fingerprint(source.parent)}".encode()).hexdigest()
    return key, build


def guard() -> ctypes.CDLL:
    """Runs kernels so that they can be stopped. Everything that starts kernels needs it loaded first."""
    return load(_GUARD)


def stop_all() -> int:
    """End every kernel that runs now, whoever launched it; returns how many there were."""
    return guard().sim_stop_all()


def needed_by(content: bytes) -> None:
    """Load what the compiled kernel with this file content calls."""
    called = set(re.findall(rb"\0sim_(\w+)", content))
    if called & _IN_GUARD:
        guard()
    if called - _IN_GUARD:
        load(SPECIAL)
