"""NVRTC itself, from the package nvidia-cuda-nvrtc: it needs no GPU, and its word on a text is final."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path

# What PyTorch adds to the options of every kernel.
_OPTIONS = (
    "--gpu-architecture=sm_90", "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__",
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations or () if found else ():
        for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            try:
                for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(str(path))
            except OSError:  # built for another kind of machine
                continue
    return None


def refusal(code: str, name: str, options: Sequence[str]) -> str | None:
    """NVRTC's log if it refuses the kernel `name` of `code`; None if it takes it, or is not installed."""
    nvrtc = _library()
    if nvrtc is None:
        return None
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), f"{name}.cu".encode(), 0, None, None)
    try:
        nvrtc.nvrtcAddNameExpression(program, name.encode())
        words = [o.encode() for o in (*options, *_OPTIONS)]
        if nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words)) == 0:
            return None
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        return log.value.decode(errors="replace")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
