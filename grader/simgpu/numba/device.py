"""numba's device object for the simulated GPU, and stand-ins for the classes of the package cuda-core."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch

from grader.simgpu import streams
from grader.simgpu.numba.modules import modules
from grader.simgpu.profile import H200
from grader.simgpu.streams import edges
from grader.simgpu.tensors import SimTensor, plain

_CONTEXT = 0x51
_ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": H200.multi_processor_count,
    "WARP_SIZE": H200.warp_size,
    "MAX_THREADS_PER_BLOCK": H200.max_threads_per_block,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK": H200.shared_memory_per_block,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": H200.shared_memory_per_block_optin,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": H200.shared_memory_per_multiprocessor,
    "MAX_THREADS_PER_MULTIPROCESSOR": H200.max_threads_per_multi_processor,
    "MAX_REGISTERS_PER_BLOCK": H200.regs_per_multiprocessor,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": H200.regs_per_multiprocessor,
    "TOTAL_CONSTANT_MEMORY": 64 << 10,
    "CLOCK_RATE": H200.clock_rate,
    "MEMORY_CLOCK_RATE": H200.memory_clock_rate,
    "GLOBAL_MEMORY_BUS_WIDTH": H200.memory_bus_width,
    "L2_CACHE_SIZE": H200.L2_cache_size,
    "COMPUTE_CAPABILITY_MAJOR": H200.major,
    "COMPUTE_CAPABILITY_MINOR": H200.minor,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "KERNEL_EXEC_TIMEOUT": 0,
    "TCC_DRIVER": 0,
    "INTEGRATED": 0,
    "CAN_MAP_HOST_MEMORY": 1,
    "CONCURRENT_KERNELS": 1,
    "ASYNC_ENGINE_COUNT": 3,
    "UNIFIED_ADDRESSING": 1,
    "MANAGED_MEMORY": 1,
    "COOPERATIVE_LAUNCH": 1,
    "ECC_ENABLED": 1,
    "COMPUTE_MODE": 0,
    "PCI_BUS_ID": H200.pci_bus_id,
    "PCI_DEVICE_ID": H200.pci_device_id,
    "PCI_DOMAIN_ID": H200.pci_domain_id,
}


@functools.cache
def device_class() -> type:
    """numba's Device for the simulated GPU."""
    m = modules()
    base = m.driver.Device

    class Device(base):
        def __init__(self, devnum: int) -> None:
            self.id = devnum
            self.compute_capability = (H200.major, H200.minor)
            self.name = H200.name if m.own_compiler else H200.name.encode()
            self.uuid = f"GPU-{H200.uuid}"
            self.primary_context = None
            self.attributes = {}
            self._dev = CoreDevice()

        def __getattr__(self, name: str) -> Any:
            if name not in _ATTRIBUTES:
                raise AttributeError(name)
            return _ATTRIBUTES[name]

        def get_primary_context(self):
            if self.primary_context is None:
                handle = _CONTEXT if m.own_compiler else m.sub("cudadrv.drvapi").cu_context(_CONTEXT)
                self.primary_context = m.driver.Context(weakref.proxy(self), handle)
            return self.primary_context

    return Device


# ------------------------------------------------------------------ cuda-core, as numba-cuda uses it


class CoreDevice:
    """In place of cuda.core.Device: memory for host arrays that are passed to a kernel."""

    memory_resource = None

    def allocate(self, size: int, stream: Any = None) -> CoreBuffer:
        return CoreBuffer(torch.empty(size, dtype=torch.uint8, device="cuda"))


class CoreBuffer:
    """In place of cuda.core.Buffer."""

    def __init__(self, memory: torch.Tensor | None) -> None:
        self.memory = memory

    @classmethod
    def from_handle(cls, ptr: int, size: int, mr: Any = None) -> CoreBuffer:
        return cls(None)

    @property
    def handle(self) -> int:
        return self.memory.data_ptr() if self.memory is not None else 0


class CoreStream:
    """In place of cuda.core.Stream: a handle."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    @classmethod
    def from_handle(cls, handle: Any) -> CoreStream:
        return cls(int(handle))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, CoreStream) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def sync(self) -> None:
        modules().driver.driver.cuStreamSynchronize(self.handle)


@functools.cache
def views_class() -> type:
    """In place of cuda.core.utils.StridedMemoryView: memory with a shape, of tensors on the simulated GPU
    too.
    """
    m = modules()
    real = m.devicearray.StridedMemoryView
    shim, layout_shim = m.devicearray._StridedMemoryViewShim, m.devicearray._StridedLayoutShim

    class View(shim):
        __slots__ = ("owner", "readonly", "strides")

    def view(ptr: int, shape: tuple, strides: tuple, dtype: Any, owner: Any) -> View:
        """`strides` in elements."""
        dense = owner if isinstance(owner, torch.Tensor) else None
        c = dense.is_contiguous() if dense is not None else _follow(shape, strides)
        f = _follow(shape[::-1], strides[::-1])
        layout = layout_shim(
            strides_in_bytes=tuple(s * dtype.itemsize for s in strides),
            is_contiguous_c=c, is_contiguous_f=f, is_contiguous_any=c or f,
        )  # fmt: skip
        size = 1
        for n in shape:
            size *= n
        made = View(ptr=ptr, shape=shape, dtype=dtype, size=size, _layout=layout)
        made.owner, made.readonly, made.strides = owner, False, strides
        return made

    class Views:
        from_any_interface = real.from_any_interface

        @staticmethod
        def from_array_interface(obj: Any) -> Any:
            a = obj.__array_interface__
            strides = obj.strides if hasattr(obj, "strides") else ()
            items = tuple(s // obj.dtype.itemsize for s in strides)
            return view(a["data"][0], tuple(a["shape"]), items, obj.dtype, obj)

        @staticmethod
        def from_dlpack(obj: Any, stream_ptr: int) -> Any:
            if not isinstance(obj, SimTensor):
                return real.from_dlpack(obj, stream_ptr=-1)  # the host's memory: PyTorch wants no stream
            host = real.from_dlpack(plain(obj) if not _refused(obj) else obj, stream_ptr=-1)
            if stream_ptr != -1:
                _let_wait(int(stream_ptr))
            return view(host.ptr, host.shape, host.strides, host.dtype, obj)

        @staticmethod
        def from_buffer(buffer: CoreBuffer, *, shape: tuple, strides: tuple, dtype: Any) -> Any:
            _check_fit(buffer, tuple(shape), tuple(strides), dtype.itemsize)
            return view(buffer.handle, tuple(shape), tuple(strides), dtype, buffer)

    return Views


def _check_fit(buffer: CoreBuffer, shape: tuple, strides: tuple, itemsize: int) -> None:
    """Raise what cuda-core raises if elements lie outside the buffer, which has room for a dense array.

    If they overlap (a broadcast array), numba-cuda would copy more than the array has: that is refused, too.
    """
    if buffer.memory is None or 0 in shape:
        return
    spans = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    below, size = sum(s for s in spans if s < 0), buffer.memory.numel()
    needed = (1 + sum(s for s in spans if s > 0)) * itemsize
    if below:
        raise ValueError(
            "Allocation size for a layout that maps elements to negative memory offsets is ambiguous. "
            f"The layout's min_offset is {below}."
        )
    if needed > size:
        raise ValueError(
            f"Buffer size is too small for the layout. Expected at least {needed} bytes, got {size} bytes."
        )
    if needed < size:
        raise ValueError(modules().devicearray.errmsg_contiguous_buffer)


def _refused(t: torch.Tensor) -> bool:
    """Tensors that PyTorch does not hand over; raises with its words."""
    if t.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if t.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    return False


def _follow(shape: tuple, strides: tuple) -> bool:
    """Are elements packed, the last axis first?"""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n == 0:
            return True
        if n > 1 and stride != step:
            return False
        step *= n
    return True


def _let_wait(handle: int) -> None:
    """A tensor that is handed to a consumer on another stream: that stream waits for the current one."""
    current, consumer = streams.current(), streams.by_handle(handle)
    if current is not consumer:
        edges.wait(consumer, edges.record(current))
