"""The one place that decides: the real GPU, or the simulated one.

Switching the simulated GPU on patches PyTorch; `_PARTS` lists everything that is patched, part by part (each
part's `patches()` yields `(owner, name, replacement)`), and switching it off puts back what was there.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import torch

_MODES = ("sim", "real")
_ABSENT = object()

_lock = threading.RLock()
_undo: list[tuple[Any, str, Any]] = []  # what the patches replaced, oldest first
_kernels: Any = None  # the library of kernels for the CUDA dispatch key, while the simulated GPU is on
_mode: str | None = None  # what `activate` decided
_blocks = 0  # how many `simulated()` blocks are open


def _parts() -> tuple:
    from grader.simgpu import (
        autograd,
        compiling,
        custom_ops,
        device_api,
        factories,
        functional,
        graphs,
        legacy,
        moves,
        nvrtc,
        ops,  # noqa: F401  (gives SimTensor its operations)
        pinned,
        profiling,
        protocols,
        rng,
        sanitizer,
        streams,
        torchscript,
        work,
    )
    from grader.simgpu.clock import sleeping

    return (
        *(device_api, streams, work, graphs, rng, factories, moves, legacy, pinned, sanitizer),
        *(protocols, autograd, functional, compiling, torchscript, custom_ops, profiling, sleeping, nvrtc),
    )


def patched_names() -> list[str]:
    """Everything that is patched while the simulated GPU is on, as dotted names."""
    names = []
    for part in _parts():
        for owner, name, _ in part.patches():
            where = (
                owner.__name__ if not isinstance(owner, type) else f"{owner.__module__}.{owner.__qualname__}"
            )
            names.append(f"{where}.{name}")
    return names


def mode() -> str:
    """ "sim" or "real": what `activate` decided, or would decide now."""
    if _mode is not None:
        return _mode
    return _decide(None)


def is_simulated() -> bool:
    """Is the simulated GPU switched on?"""
    return _kernels is not None


def _decide(asked: str | None) -> str:
    choice = asked or os.environ.get("GRADER_GPU") or ""
    choice = choice.strip().lower()
    if choice and choice not in _MODES:
        where = "mode" if asked else "GRADER_GPU"
        raise ValueError(
            f"{where} is {choice!r}: it must be 'sim' (the simulated GPU) or 'real' (this machine's GPU)"
        )
    here = is_simulated() or not torch.cuda.is_available()
    if choice == "real" and here:
        raise RuntimeError(
            "GRADER_GPU=real asks for a real GPU, but PyTorch finds none here (torch.cuda.is_available() is "
            "False). Leave GRADER_GPU unset to use the simulated GPU."
        )
    return choice or ("sim" if here else "real")


def activate(mode: str | None = None) -> None:
    """Decide between the real and the simulated GPU, and switch the simulated one on if it is that.

    `mode` is "sim", "real" or None (then GRADER_GPU decides, else whether PyTorch finds a GPU). Calling it
    again is harmless. Raises ValueError for another word, RuntimeError for "real" where there is no GPU.
    """
    global _mode
    with _lock:
        if _mode is not None and mode is None:
            return
        if mode == "real" and is_simulated():
            deactivate()
        chosen = _decide(mode)
        if chosen == "sim" and not is_simulated():
            _install()
        _mode = chosen


def deactivate() -> None:
    """Switch the simulated GPU off: PyTorch is as it was. Tensors made meanwhile keep their class."""
    global _mode
    with _lock:
        if is_simulated():
            _uninstall()
        _mode = None


@contextlib.contextmanager
def simulated() -> Iterator[None]:
    """The simulated GPU is on inside the block, also on a machine with a real GPU.

    It is switched for all threads: blocks of several threads may overlap, and the last one switches it off.
    """
    global _blocks
    with _lock:
        if not is_simulated():
            if torch.cuda.is_available():
                torch.cuda.init()  # for real, before PyTorch's C++ takes our initialisation for the real one
            _install()
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks and is_simulated() and _mode != "sim":
                _uninstall()


def patch(owner: Any, name: str, replacement: Any) -> None:
    """Patch something more while the simulated GPU is on: for modules that are only imported when used."""
    with _lock:
        if is_simulated():
            _undo.append((owner, name, vars(owner).get(name, _ABSENT)))
            setattr(owner, name, replacement)


def describe() -> str:
    """One line for people: which GPU is in use."""
    if is_simulated():
        return "no GPU here: simulated GPU (CUDA's rules; last digits may differ; time not measured)"
    if torch.cuda.is_available():
        return f"GPU: {torch.cuda.get_device_name()}"
    return "no GPU"


def _install() -> None:
    global _kernels
    from grader.simgpu import factories, jiterator, numba

    torch._C._ensureCUDADeviceGuardSet()
    try:
        for part in _parts():
            for owner, name, replacement in list(part.patches()):
                _undo.append((owner, name, vars(owner).get(name, _ABSENT)))
                setattr(owner, name, replacement)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where PyTorch has CUDA, it says that its kernels are overridden
            _kernels = factories.install_kernels()
        jiterator.install()
        numba.install()
    except BaseException:
        _restore()
        raise


def _uninstall() -> None:
    from grader.simgpu import clock, graphs, jiterator, numba, order, streams

    jiterator.uninstall()
    numba.uninstall()
    _restore()
    for room in (graphs, streams, order, clock):  # what the process's device did is forgotten
        room.reset()


def _restore() -> None:
    global _kernels
    library, _kernels = _kernels, None
    if library is not None:
        library._destroy()
    while _undo:
        owner, name, before = _undo.pop()
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
