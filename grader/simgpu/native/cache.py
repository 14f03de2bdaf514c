"""Compiled libraries on disk, shared by all processes of this user.

A file is complete or it is not used: it is written under another name and renamed, and ends with a digest of
the rest.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

_MARK = b"simulated-gpu-1\0"
_OURS = "simulated_gpu"  # beside the kernels of the real GPU, which PyTorch keeps in the folder itself


def folder() -> Path:
    """Where libraries are kept: in a folder of ours where PyTorch keeps the real GPU's kernels.

    `PYTORCH_KERNEL_CACHE_PATH`, else `XDG_CACHE_HOME`/torch/kernels, else ~/.cache/torch/kernels. With
    `USE_PYTORCH_KERNEL_CACHE=0`, or if that cannot be written, a folder that lasts as long as the process.
    """
    names = ("USE_PYTORCH_KERNEL_CACHE", "PYTORCH_KERNEL_CACHE_PATH", "XDG_CACHE_HOME", "HOME")
    return _folder(tuple(os.environ.get(name) for name in names))


@functools.lru_cache(maxsize=32)
def _folder(settings: tuple[str | None, ...]) -> Path:
    use, path, xdg, home = settings
    if use != "0":
        base = (
            Path(path)
            if path
            else Path(xdg) / "torch/kernels"
            if xdg
            else Path(home or "~").expanduser() / ".cache/torch/kernels"
        )
        with contextlib.suppress(OSError, RuntimeError):
            ours = base / _OURS
            ours.mkdir(parents=True, exist_ok=True)
            if os.access(ours, os.W_OK | os.X_OK):
                return ours
    return _temporary()


_scratch: list[tempfile.TemporaryDirectory] = []  # at most one; removed when the process ends
_scratch_lock = threading.Lock()


def _temporary() -> Path:
    with _scratch_lock:
        if not _scratch:
            _scratch.append(tempfile.TemporaryDirectory(prefix="simulated_gpu_", ignore_cleanup_errors=True))
        return Path(_scratch[0].name)


def load(key: str, build: Callable[[Path], None], everywhere: bool = False) -> tuple[ctypes.CDLL, bool]:
    """The library called `key`, and whether it was on disk already; `build(path)` makes it.

    everywhere: let libraries loaded later use its functions. Whatever `build` raises passes through.
    """
    mode = ctypes.RTLD_GLOBAL if everywhere else ctypes.DEFAULT_MODE
    path = folder() / f"{key}.so"
    if is_whole(path):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(str(path), mode=mode), True
    _store(path, build)
    try:
        return ctypes.CDLL(str(path), mode=mode), False
    except OSError:  # a folder from which nothing may be executed
        path = _temporary() / path.name
        _store(path, build)
        return ctypes.CDLL(str(path), mode=mode), False


def store(key: str, build: Callable[[Path], None]) -> None:
    """See that the library called `key` is on disk."""
    path = folder() / f"{key}.so"
    if not is_whole(path):
        _store(path, build)


def _store(path: Path, build: Callable[[Path], None]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem[:8], suffix=".tmp")
    os.close(handle)
    scratch = Path(name)
    try:
        build(scratch)
        content = scratch.read_bytes()
        with open(scratch, "ab") as file:
            file.write(hashlib.sha256(content).digest() + _MARK)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Whether the file at `path` is as it was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    body, digest, mark = content[:-48], content[-48:-16], content[-16:]
    return mark == _MARK and hashlib.sha256(body).digest() == digest
