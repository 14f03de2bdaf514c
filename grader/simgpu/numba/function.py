"""A compiled kernel as numba keeps it: in place of a function loaded onto a GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from grader.simgpu import trace
from grader.simgpu.numba import hostcode

_NO_PTX = "// The simulated GPU runs kernels on the host and makes no PTX. Their LLVM code:\n"


class Function:
    """What `get_cufunc()` returns: the host's machine code, and what CUDA tells of a function."""

    def __init__(self, name: str, code: hostcode.HostCode) -> None:
        self.name = self.handle = name
        self.code = code
        self.module = SimpleNamespace(initialized=True)
        self.attrs = SimpleNamespace(regs=32, shared=code.shared, local=0, const=0, maxthreads=1024)
        self.kernel = SimpleNamespace(attributes=SimpleNamespace(max_threads_per_block=1024))

    def set_shared_memory_carveout(self, carveout: int) -> None: ...

    def cache_config(self, **kwargs: bool) -> None: ...


def get_cufunc(library: Any) -> Function:
    """In place of `CUDACodeLibrary.get_cufunc`: compile the library's kernel, once."""
    found = library._cufunc_cache.get(0)
    if not isinstance(found, Function):
        if library._entry_name is None:
            raise RuntimeError("Missing entry_name - are you trying to get the cufunc for a device function?")
        code = hostcode.build(library.llvm_strs, library._entry_name)
        found = library._cufunc_cache[0] = Function(library._entry_name, code)
        trace.emit(trace.Compile(library.name, "\n".join(library.llvm_strs), (), cached=False))
    return found


def get_asm_strs(library: Any, cc: Any = None) -> list[str]:
    """In place of numba-cuda's: what numba searches for names of functions that a kernel calls."""
    return [_NO_PTX + text for text in library.llvm_strs]


def get_asm_str(library: Any, cc: Any = None) -> str:
    return "\n".join(get_asm_strs(library))
