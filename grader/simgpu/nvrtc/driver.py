"""The part of NVIDIA's driver that PyTorch's `_CudaKernel` calls through ctypes.

PyTorch's own code turns Python arguments into pointers, so that its rules (a float is a double, an int has 32
bits, nothing is checked) are its own here too. What it hands over is only addresses; `arguments` notes the
tensors behind them meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from grader.simgpu import lost, streams
from grader.simgpu.grid import runtime, shape
from grader.simgpu.nvrtc import launch
from grader.simgpu.nvrtc.build import Kernel

_SUCCESS, _INVALID_VALUE, _NOT_FOUND = 0, 1, 500
_ERRORS = {_INVALID_VALUE: b"invalid argument", _NOT_FOUND: b"named symbol not found"}
_MAX_DYNAMIC_SHARED = 8


class Driver:
    """Stands in for the ctypes library libcuda."""

    def __init__(self) -> None:
        self._kernels: list[Kernel] = []  # modules and functions are numbers: one more than the index here
        self._optin: dict[int, int] = {}
        self._given = threading.local()

    def module(self, kernel: Kernel) -> bytes:
        """The "binary" of a module with this one kernel, for cuModuleLoadData."""
        self._kernels.append(kernel)
        return str(len(self._kernels)).encode()

    @contextlib.contextmanager
    def arguments(self, args: Sequence[Any]) -> Iterator[None]:
        """While the block runs, launches of this thread are given `args`."""
        self._given.args = args
        try:
            yield
        finally:
            self._given.args = ()

    def cuGetErrorString(self, result: int, text: Any) -> int:
        text._obj.value = _ERRORS[result]
        return _SUCCESS

    def cuModuleLoadData(self, module: Any, image: bytes) -> int:
        module._obj.value = int(image.rstrip(b"\0"))
        return _SUCCESS

    def cuModuleGetFunction(self, function: Any, module: ctypes.c_void_p, name: bytes) -> int:
        if self._kernels[module.value - 1].name.encode() != name:
            return _NOT_FOUND
        function._obj.value = module.value
        return _SUCCESS

    def cuFuncSetAttribute(self, function: ctypes.c_void_p, attribute: int, value: int) -> int:
        if attribute == _MAX_DYNAMIC_SHARED:
            self._optin[function.value] = value
        return _SUCCESS

    def cuLaunchKernel(self, function, *rest) -> int:
        *sizes, stream, arguments, _ = rest
        if not all(isinstance(n, int) for n in sizes):
            runtime.library().grid_image(function, *sizes)  # ctypes says what is wrong with them
        lost.check()
        kernel = self._kernels[function.value - 1]
        sizes = [ctypes.c_uint(n).value for n in sizes]
        grid, block, shared_bytes = tuple(sizes[:3]), tuple(sizes[3:6]), sizes[6]
        most = max(shape.SHARED_BYTES, self._optin.get(function.value, 0))
        if not shape.fits(grid, block) or shared_bytes + kernel.static_shared > most:
            return _INVALID_VALUE
        if len(arguments) < len(kernel.parameters):
            raise RuntimeError(
                f"the kernel {kernel.name!r} has {len(kernel.parameters)} parameters and was given "
                f"{len(arguments)} arguments: a GPU would take whatever memory holds for the others"
            )
        values = [ctypes.string_at(a, p.size) for a, p in zip(arguments, kernel.parameters, strict=False)]
        operands = self._operands(kernel, values)
        launch.launch(
            kernel, grid, block, shared_bytes, streams.by_handle(stream.value or 0), values, operands
        )
        return _SUCCESS

    def _operands(self, kernel: Kernel, values: Sequence[bytes]) -> list[launch.Operand]:
        found = []
        for i, (parameter, given) in enumerate(zip(kernel.parameters, self._given.args, strict=False)):
            if parameter.pointer and isinstance(given, torch.Tensor) and given.numel():
                name = parameter.name or f"argument {i}"
                found.append(launch.Operand.of(given, name, i, parameter.constant))
        return found
