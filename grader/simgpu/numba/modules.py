"""The parts of numba.cuda that are used here, wherever the installed one keeps them.

numba.cuda is numba's own (deprecated) CUDA target, or the package numba-cuda, which takes its place under the
same name and carries its own copy of numba's compiler.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

_RESULTS = {
    "CUDA_ERROR_INVALID_VALUE": 1,
    "CUDA_ERROR_OUT_OF_MEMORY": 2,
    "CUDA_ERROR_INVALID_HANDLE": 400,
    "CUDA_ERROR_NOT_FOUND": 500,
    "CUDA_ERROR_NOT_READY": 600,
    "CUDA_ERROR_ILLEGAL_ADDRESS": 700,
    "CUDA_ERROR_LAUNCH_FAILED": 719,
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": 720,
}


class Modules:
    """numba.cuda's modules. `own_compiler`: this is the package numba-cuda."""

    def __init__(self) -> None:
        self.cuda = importlib.import_module("numba.cuda")
        self.own_compiler = hasattr(self.cuda, "ldca")  # cache hints: numba-cuda only
        core = "numba.cuda" if self.own_compiler else "numba.core"
        self.cgutils = importlib.import_module(f"{core}.cgutils")
        self.types = importlib.import_module(f"{core}.types")
        self.lowering = importlib.import_module(f"{core}.lowering")
        self.ir = importlib.import_module("numba.cuda.core.ir" if self.own_compiler else "numba.core.ir")
        self.compiler = importlib.import_module("numba.cuda.compiler")
        self.dispatcher = importlib.import_module("numba.cuda.dispatcher")
        self.codegen = importlib.import_module("numba.cuda.codegen")
        self.target = importlib.import_module("numba.cuda.target")
        self.driver = importlib.import_module("numba.cuda.cudadrv.driver")
        self.devices = importlib.import_module("numba.cuda.cudadrv.devices")
        self.devicearray = importlib.import_module("numba.cuda.cudadrv.devicearray")
        self.nvvm = importlib.import_module("numba.cuda.cudadrv.nvvm")
        self.args = importlib.import_module("numba.cuda.args")

    def sub(self, name: str) -> ModuleType:
        """The module numba.cuda.`name`."""
        return importlib.import_module(f"numba.cuda.{name}")

    def api_error(self, call: str, code: str) -> Exception:
        """The CudaAPIError of a driver call that failed: `code` is CUresult's name of one of `_RESULTS`."""
        if self.own_compiler:
            result, name = getattr(self.driver.binding.CUresult, code), code
        else:
            result = _RESULTS[code]
            name = self.driver.ERROR_MAP.get(result, "UNKNOWN_CUDA_ERROR")  # it does not know all
        return self.driver.CudaAPIError(result, f"Call to {call} results in {name}")


@functools.cache
def modules() -> Modules:
    """The installed numba.cuda; importing it is the caller's business (seconds)."""
    return Modules()
