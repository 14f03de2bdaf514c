"""torch.cuda._compile_kernel on the simulated GPU: CUDA C++ compiled by the host's C++ compiler.

The learner's text is compiled as it stands. PyTorch's Python code runs unchanged but for `_nvrtc_compile`.

    source.py   what must be known of the text before
    build.py    from text to a library; errors.py: what is wrong with the text, in NVRTC's words
    nvidia.py   NVRTC itself, where it is installed, says what is wrong with a text
    driver.py   the functions of the driver that PyTorch calls
    launch.py   one launch; lines.py: from addresses to lines of the text
    cpp/        what CUDA C++ may call
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch.cuda._utils as _utils

from grader import tracebacks
from grader.simgpu.nvrtc import build
from grader.simgpu.nvrtc.driver import Driver

__all__ = ["patches"]


def patches() -> Iterator[tuple[Any, str, Any]]:
    driver = Driver()
    call = _utils._CudaKernel.__call__

    def compile_(
        kernel_source,
        kernel_name,
        compute_capability=None,
        cuda_include_dirs=None,
        nvcc_options=None,
        auto_pch=False,
    ) -> tuple[bytes, str]:
        options = [*(f"-I{folder}" for folder in cuda_include_dirs or ()), *(nvcc_options or ())]
        try:
            return driver.module(build.kernel(kernel_source, kernel_name, options)), kernel_name
        except BaseException as error:
            tracebacks.of_their_lines(error)
            raise

    def noted_call(self, *args, **kwargs):
        given = kwargs["args"] if "args" in kwargs else args[2] if len(args) > 2 else ()
        with driver.arguments(given or ()):
            return call(self, *args, **kwargs)

    noted_call.__wrapped__ = call
    yield _utils, "_nvrtc_compile", compile_
    yield _utils, "_get_gpu_runtime_library", lambda: driver
    yield _utils._CudaKernel, "__call__", noted_call
