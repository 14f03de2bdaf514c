"""Launching a numba kernel: what is refused, the run, what comes of it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import torch

from grader import tracebacks
from grader.simgpu import lost, streams
from grader.simgpu.grid import abi, shape
from grader.simgpu.numba import arguments, outcome
from grader.simgpu.numba.hostcode import HostCode
from grader.simgpu.numba.modules import modules
from grader.simgpu.numba.run import Dim3, Run
from grader.simgpu.profile import H200

_MEANINGS = {
    "CUDA_ERROR_INVALID_VALUE": "This indicates that one or more of the parameters passed to the API call "
    "is not within an acceptable range of values.",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "This error indicates that the number of blocks launched per "
    "grid for a kernel that was launched via either cuLaunchCooperativeKernel or "
    "cuLaunchCooperativeKernelMultiDevice exceeds the maximum number of blocks as allowed by "
    "cuOccupancyMaxActiveBlocksPerMultiprocessor or cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags "
    "times the number of multiprocessors as specified by the device attribute "
    "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT.",
}


def launch(
    self, args: Sequence[Any], griddim: Dim3, blockdim: Dim3, stream: Any = 0, sharedmem: int = 0
) -> None:
    """In place of `_Kernel.launch`: run the kernel with `args` over the grid, in the order of `stream`.

    Raises what numba raises for arguments and CUDA for shapes; for what the kernel does, see
    outcome.conclude.
    """
    write_back: list = []
    try:
        code: HostCode = self._codelibrary.get_cufunc().code
        lost.check()
        words, arrays = arguments.prepare(self, args, stream, write_back)
        _check_shape(griddim, blockdim, sharedmem, code)
        handle = (
            stream.handle if stream else 0
        )  # numba-cuda has made a Stream of it; others raise AttributeError here
        run = Run(
            _name(self), code, words, arrays, tuple(map(int, griddim)), tuple(map(int, blockdim)),
            int(sharedmem), function=getattr(self, "py_func", None),
            takes_tensors=any(isinstance(a, torch.Tensor) for a in args),
        )  # fmt: skip
        result = run.queued_on(streams.by_handle(getattr(handle, "value", handle) or 0))
        if run.printed:
            print(run.printed.decode(errors="replace"), end="")
        outcome.conclude(run.name, result, arrays, mistyped=len(words) != len(code.letters))
        if self.debug:
            _raise_exception(self, code)
    except BaseException as error:
        tracebacks.of_their_lines(error)
        raise
    for finish in write_back:
        finish()


def _name(kernel: Any) -> str:
    function = getattr(kernel, "py_func", None)
    return function.__name__ if function else kernel.entry_name


def _check_shape(griddim: Dim3, blockdim: Dim3, sharedmem: int, code: HostCode) -> None:
    """What CUDA refuses to launch."""
    m = modules()
    if m.own_compiler:
        m.dispatcher.LaunchConfig(
            grid=griddim, block=blockdim, shmem_size=sharedmem
        )  # refuses NumPy's integers
    room = sharedmem >= 0 and sharedmem + code.shared <= H200.shared_memory_per_block
    if not (room and shape.fits(griddim, blockdim)):
        raise _refusal("CUDA_ERROR_INVALID_VALUE")
    if code.mode == abi.COOPERATIVE:
        threads = blockdim[0] * blockdim[1] * blockdim[2]
        most = H200.multi_processor_count * (H200.max_threads_per_multi_processor // threads)
        if griddim[0] * griddim[1] * griddim[2] > most:
            raise _refusal("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")


def _refusal(code: str) -> Exception:
    """The error of a launch that CUDA refuses, with the class of whoever launches: cuda-core, or numba."""
    m = modules()
    if m.own_compiler:
        error = sys.modules["cuda.core._utils.cuda_utils"].CUDAError
        return error(f"{code}: {_MEANINGS[code]}")
    return m.api_error("cuLaunchKernel", code)


def _raise_exception(kernel: Any, code: HostCode) -> None:
    """Raise what a thread of a kernel compiled with debug=True raised first."""

    def variable(suffix: str) -> ctypes.c_int32:
        where = next(address for name, address in code.variables.items() if name.endswith(suffix))
        return ctypes.c_int32.from_address(where)

    number = variable("__errcode__").value
    variable("__errcode__").value = 0
    if number == 0:
        return
    thread = [variable(f"__tid{axis}__").value for axis in "zyx"]
    block = [variable(f"__ctaid{axis}__").value for axis in "zyx"]
    kind, args, where = kernel.call_helper.get_exception(number)
    place = f"In function {where[0]!r}, file {where[1]}, line {where[2]}, " if where else ""
    text = f"{place}tid={thread} ctaid={block}"
    raise kind(*((f"{text}: {args[0]}", *args[1:]) if args else (text,)))
