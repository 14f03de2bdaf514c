"""The CUDA driver as numba.cuda calls it: memory, copies, streams and events of the simulated GPU.

`Calls` has one method for each function of the driver that numba's own Python code needs, in the style of the
package cuda-bindings: arguments in, results out, CudaAPIError if it fails. `in_ctypes_style` fits one to the
built-in target, which hands over pointers to its results.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable
from typing import Any

import torch

from grader.simgpu import clock, lost, order, streams, work
from grader.simgpu.memory import free_and_total
from grader.simgpu.numba.modules import modules
from grader.simgpu.numba.state import state

_handles = itertools.count(0x5700_0000_0000, 0x100)


class Calls:
    """The driver's functions. Addresses and handles are integers, or have `int()` or `.value`."""

    def __init__(self) -> None:
        self._thread = threading.local()  # each thread has a stack of contexts

    @property
    def _contexts(self) -> list[int]:
        if not hasattr(self._thread, "stack"):
            self._thread.stack = []
        return self._thread.stack

    # -------------------------------------------------------------- device and context

    def cuInit(self, flags: int) -> None: ...

    def cuDriverGetVersion(self) -> int:
        return 13000

    def cuDeviceGetCount(self) -> int:
        return 1

    def cuCtxGetCurrent(self) -> int:
        return self._contexts[-1] if self._contexts else 0

    def cuCtxGetDevice(self) -> int:
        return 0

    def cuCtxPushCurrent(self, context: Any) -> None:
        self._contexts.append(_integer(context))

    def cuCtxPopCurrent(self) -> int:
        return self._contexts.pop() if self._contexts else 0

    def cuDevicePrimaryCtxRelease(self, device: int) -> None: ...

    def cuDevicePrimaryCtxReset(self, device: int) -> None: ...

    def cuCtxSynchronize(self) -> None:
        _checked("cuCtxSynchronize", torch.cuda.synchronize)

    def cuProfilerStart(self) -> None: ...

    def cuProfilerStop(self) -> None: ...

    # -------------------------------------------------------------- memory

    def cuMemGetInfo(self) -> tuple[int, int]:
        return free_and_total()

    def cuMemAlloc(self, size: int) -> int:
        return self._keep(_checked("cuMemAlloc", torch.empty, int(size), dtype=torch.uint8, device="cuda"))

    def cuMemAllocManaged(self, size: int, flags: int) -> int:
        return self.cuMemHostAlloc(size, flags)

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        return self._keep(
            _checked("cuMemHostAlloc", torch.empty, int(size), dtype=torch.uint8, pin_memory=True)
        )

    @staticmethod
    def _keep(memory: torch.Tensor) -> int:
        pointer = memory.data_ptr()
        state.memory[pointer] = memory
        return pointer

    def cuMemFree(self, pointer: Any) -> None:
        state.memory.pop(_integer(pointer), None)

    cuMemFreeHost = cuMemFree

    def cuMemHostRegister(self, pointer: Any, size: int, flags: int) -> None: ...

    def cuMemHostUnregister(self, pointer: Any) -> None: ...

    def cuMemHostGetDevicePointer(self, pointer: Any, flags: int) -> int:
        return _integer(pointer)

    def cuPointerGetAttribute(self, attribute: Any, pointer: Any) -> int:
        return _integer(pointer)

    def cuMemGetAddressRange(self, pointer: Any) -> tuple[int, int]:
        at = _integer(pointer)
        for start, memory in state.memory.items():
            if start <= at < start + memory.numel():
                return start, memory.numel()
        raise modules().api_error("cuMemGetAddressRange", "CUDA_ERROR_NOT_FOUND")

    # -------------------------------------------------------------- copies

    def cuMemcpyHtoD(self, to: Any, source: Any, size: int) -> None:
        _copy("cuMemcpyHtoD", "h2d", to, source, size, 0, waits=True)

    def cuMemcpyDtoH(self, to: Any, source: Any, size: int) -> None:
        _copy("cuMemcpyDtoH", "d2h", to, source, size, 0, waits=True)

    def cuMemcpyDtoD(self, to: Any, source: Any, size: int) -> None:
        _copy("cuMemcpyDtoD", "compute", to, source, size, 0, waits=False)

    def cuMemcpyHtoDAsync(self, to: Any, source: Any, size: int, stream: Any) -> None:
        _copy("cuMemcpyHtoDAsync", "h2d", to, source, size, stream, waits=False)

    def cuMemcpyDtoHAsync(self, to: Any, source: Any, size: int, stream: Any) -> None:
        _copy("cuMemcpyDtoHAsync", "d2h", to, source, size, stream, waits=False)

    def cuMemcpyDtoDAsync(self, to: Any, source: Any, size: int, stream: Any) -> None:
        _copy("cuMemcpyDtoDAsync", "compute", to, source, size, stream, waits=False)

    def cuMemsetD8(self, to: Any, byte: int, count: int) -> None:
        self.cuMemsetD8Async(to, byte, count, 0)

    def cuMemsetD8Async(self, to: Any, byte: int, count: int, stream: Any) -> None:
        to, count = _integer(to), int(count)
        written = _regions((to, count))
        _queue(
            work.Work(
                "Memset", "fill", streams.by_handle(_integer(stream)), writes=written,
                cost=clock.costs.torch_op("fill_", (), _sizes(written), ()), line=order.here(),
            ),
            lambda: ctypes.memset(to, byte, count),
        )  # fmt: skip

    # -------------------------------------------------------------- streams and events

    def cuStreamCreate(self, flags: int = 0) -> int:
        return streams.new_blocking().handle

    def cuStreamDestroy(self, stream: Any) -> None: ...

    def cuStreamSynchronize(self, stream: Any) -> None:
        handle = _integer(stream)
        _checked(
            "cuStreamSynchronize", lambda: work.host_sync(streams.by_handle(handle), "Stream.synchronize")
        )

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> None:
        _torch_stream(stream).wait_event(state.events[_integer(event)])

    def cuEventCreate(self, flags: int) -> int:
        handle = next(_handles)
        timing = not int(flags) & 2  # CU_EVENT_DISABLE_TIMING
        state.events[handle] = torch.cuda.Event(enable_timing=timing)
        return handle

    def cuEventDestroy(self, event: Any) -> None:
        state.events.pop(_integer(event), None)

    def cuEventRecord(self, event: Any, stream: Any) -> None:
        _checked("cuEventRecord", state.events[_integer(event)].record, _torch_stream(stream))

    def cuEventQuery(self, event: Any) -> None:
        if not _checked("cuEventQuery", state.events[_integer(event)].query):
            raise modules().api_error("cuEventQuery", "CUDA_ERROR_NOT_READY")

    def cuEventSynchronize(self, event: Any) -> None:
        _checked("cuEventSynchronize", state.events[_integer(event)].synchronize)

    def cuEventElapsedTime(self, start: Any, end: Any) -> float:
        first, last = state.events[_integer(start)], state.events[_integer(end)]
        try:
            return first.elapsed_time(last)
        except torch.AcceleratorError as e:
            code = "CUDA_ERROR_NOT_READY" if "not ready" in str(e) else "CUDA_ERROR_INVALID_HANDLE"
        except (RuntimeError, ValueError):
            code = "CUDA_ERROR_INVALID_HANDLE"
        raise modules().api_error("cuEventElapsedTime", code) from None


def _integer(value: Any) -> int:
    """An address or a handle, however numba holds it."""
    if value is None:
        return 0
    if hasattr(value, "value"):
        return value.value or 0
    return int(value)


def _torch_stream(stream: Any) -> torch.cuda.Stream:
    return torch.cuda.ExternalStream(_integer(stream))


def _checked(name: str, call: Callable, *args: Any, **kwargs: Any) -> Any:
    """What `call` returns; errors of the device are raised as the driver function `name` does."""
    try:
        lost.check()
        return call(*args, **kwargs)
    except torch.OutOfMemoryError:
        code = "CUDA_ERROR_OUT_OF_MEMORY"
    except torch.AcceleratorError as e:
        launch = "unspecified launch failure" in str(e)
        code = "CUDA_ERROR_LAUNCH_FAILED" if launch else "CUDA_ERROR_ILLEGAL_ADDRESS"
    raise modules().api_error(name, code) from None


# ------------------------------------------------------------------ copies


def _regions(*memory: tuple[int, int]) -> tuple[work.Access, ...]:
    """Those of the pieces (address, bytes) that are the device's or pinned."""
    found = (work.Access.of_memory(pointer, size) for pointer, size in memory)
    return tuple(a for a in found if a is not None)


def _sizes(regions: tuple[work.Access, ...]) -> list[tuple[int, int]]:
    return [(a.key, a.high - a.low) for a in regions]


def _queue(item: work.Work, body: Callable[[], Any]) -> None:
    if work.tracking():
        work.run(item, body)
    else:
        body()


def _copy(name: str, engine: str, to: Any, source: Any, size: int, stream: Any, *, waits: bool) -> None:
    """Copy `size` bytes in the order of `stream`. Copies to or from pageable memory are over when it
    returns.
    """
    to, source, size = _integer(to), _integer(source), int(size)
    queue = streams.by_handle(_integer(stream))
    reads, writes = _regions((source, size)), _regions((to, size))
    pinned = bool(reads and writes)
    blocking = waits or (engine == "d2h" and not pinned)
    if engine == "compute":
        cost = clock.costs.torch_op("copy_", _sizes(reads), _sizes(writes), ())
    else:
        cost = clock.costs.copy(size, engine, pinned, blocking=blocking)
        if blocking:  # the host's side is over when the call returns
            reads, writes = (reads, ()) if engine == "d2h" else ((), writes)
    label = {"h2d": "Memcpy HtoD", "d2h": "Memcpy DtoH", "compute": "Memcpy DtoD"}[engine]
    item = work.Work(label, "copy", queue, reads, writes, cost=cost, engine=engine, line=order.here())

    def body() -> None:
        if engine == "d2h" and writes:
            there, values = _bytes(to, size), _bytes(source, size).clone()
            order.download(item, there, values)
        else:
            ctypes.memmove(to, source, size)

    _checked(name, _queue, item, body)
    if blocking:
        work.host_sync(queue, label, checked=False)


def _bytes(pointer: int, size: int) -> torch.Tensor:
    """A plain tensor of the bytes at `pointer`, over the storage that has them."""
    return work.Access.of_memory(pointer, size).tensor()


# ------------------------------------------------------------------ the built-in target's style

_RESULTS = {
    "cuDriverGetVersion", "cuDeviceGetCount", "cuCtxGetCurrent", "cuCtxGetDevice", "cuCtxPopCurrent",
    "cuMemGetInfo", "cuMemAlloc", "cuMemAllocManaged", "cuMemHostAlloc", "cuMemHostGetDevicePointer",
    "cuPointerGetAttribute", "cuMemGetAddressRange", "cuStreamCreate", "cuEventCreate", "cuEventElapsedTime",
}  # fmt: skip


def in_ctypes_style(name: str, call: Callable) -> Callable:
    """`call` for code that passes pointers to where the results go, before the arguments."""
    if name not in _RESULTS:
        return call
    many = 2 if name in ("cuMemGetInfo", "cuMemGetAddressRange") else 1

    def fill(*args: Any) -> None:
        results = call(*args[many:])
        for pointer, value in zip(args[:many], results if many > 1 else (results,), strict=True):
            pointer._obj.value = value

    return fill


def functions() -> dict[str, Callable]:
    """The driver's functions as the installed numba.cuda calls them."""
    calls = Calls()
    found = {name: getattr(calls, name) for name in dir(calls) if name.startswith("cu")}
    if modules().own_compiler:
        return found
    return {name: in_ctypes_style(name, call) for name, call in found.items()}
