"""numba.cuda on the simulated GPU.

numba's own compiler for CUDA runs unchanged up to the LLVM code that it would hand to NVIDIA's; from there on
the code is made for the host: so typing, its errors and CUDA's rules are numba's own. numba's own Python code
for memory, streams and launches runs unchanged too, above a driver that is simulated.

    modules.py    numba.cuda's modules, of the built-in target or the package numba-cuda
    hook.py       tells when numba.cuda is imported; patching.py: what is replaced then
    lowering.py   the learner's lines and checks of indices; builder.py: host instructions for a GPU's, with a
                  call of the grid runtime at each access of memory; ptx.py: for assembly
    hostcode.py   LLVM code to machine code; function.py: as numba keeps it; runtime.py: what it calls
    cpp/          device functions: barriers, shuffles, atomics, libdevice, float16
    launch.py     one launch; arguments.py: packed; run.py: over the grid, on a stream; outcome.py: what it
                  comes to for the learner
    driver.py     the CUDA driver; device.py: devices, and stand-ins for the package cuda-core
"""

from __future__ import annotations

import contextlib
import sys
import threading

from grader.simgpu.numba.hook import AfterImport
from grader.simgpu.numba.state import state

_ABSENT = object()


def install() -> None:
    """Let numba kernels run on the simulated GPU, now or as soon as numba.cuda is imported."""
    if state.hook is not None:
        return
    state.hook = AfterImport(_apply)
    if "numba.cuda" in sys.modules:
        _apply()
    else:
        sys.meta_path.insert(0, state.hook)


def uninstall() -> None:
    """Undo install()."""
    if state.hook in sys.meta_path:
        sys.meta_path.remove(state.hook)
    state.hook = None
    applied = bool(state.undo)
    while state.undo:
        owner, name, before = state.undo.pop()
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
    if applied:
        _patching().forget_devices()
    state.reset()


def _patching():
    from grader.simgpu.numba import patching  # needs numba

    return patching


def _apply() -> None:
    if state.hook in sys.meta_path:
        sys.meta_path.remove(state.hook)
    if (
        state.undo or sys.modules["numba.cuda"].config.ENABLE_CUDASIM
    ):  # who asks for numba's simulator gets it
        return
    patching = _patching()
    patching.forget_devices()
    for owner, name, replacement in list(patching.patches()):
        state.undo.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, replacement)
    threading.Thread(target=_build_ahead, daemon=True).start()


def _build_ahead() -> None:
    """What kernels call is built once for a machine, in seconds: begin before a launch waits for it."""
    from grader.simgpu.numba import runtime

    with contextlib.suppress(Exception):  # the first launch meets it again, and tells
        runtime.library()
