"""One launch of a CUDA C++ kernel: its memory, its arguments, what is reported of it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from grader import tracebacks
from grader.simgpu import clock, order, trace, work
from grader.simgpu.grid import abi, faults, runtime
from grader.simgpu.grid.runtime import Memory
from grader.simgpu.nvrtc import lines
from grader.simgpu.nvrtc.build import Kernel, mode
from grader.simgpu.nvrtc.pointers import Pointers
from grader.simgpu.streams.state import StreamState

Shape = tuple[int, int, int]
_NULL = 64 << 10  # an address below is a null pointer with an index, or a number taken for a pointer
_FAR = 64 << 20  # bytes from the nearest argument beyond which it is not the one that was meant
_MARGIN = 64 << 10  # bytes around a kernel's file that an index of an array in it may reach


@dataclass(frozen=True)
class Operand:
    """A tensor argument. position: of its parameter; low, high: the bytes that it addresses."""

    name: str
    position: int
    constant: bool
    low: int
    high: int
    itemsize: int
    access: work.Access | None

    @classmethod
    def of(cls, t: torch.Tensor, name: str, position: int, constant: bool) -> Operand:
        """Of the tensor `t`, which is not empty."""
        with torch._C.DisableTorchFunctionSubclass():
            low, size = t.data_ptr(), t.element_size()
            last = sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))
        return cls(name, position, constant, low, low + (last + 1) * size, size, work.Access.of(t))

    @property
    def elements(self) -> int:
        return (self.high - self.low) // self.itemsize


class _Sites:
    """What faults.py asks about a kernel and the memory of a launch."""

    def __init__(
        self, kernel: Kernel, operands: Sequence[Operand], shared_bytes: int, elsewhere: Sequence[abi.Range]
    ) -> None:
        self.kernel = kernel
        places = [(o.low, o.high, o.itemsize, o.name, f"{o.name} has {_many(o.elements)}") for o in operands]
        if shared_bytes:
            low, what = runtime.address("grid_shared_memory"), f"shared memory has {shared_bytes} bytes"
            places.append((low, low + shared_bytes, 1, "shared memory", what))
        elif kernel.source.dynamic_shared:
            what = "dynamic shared memory has 0 bytes: shared_mem= is missing at the launch"
            low = runtime.address("grid_shared_memory")
            places.append((low, low, 1, "dynamic shared memory", what))
        if kernel.static_shared:
            what = "the __shared__ arrays end before that"
            places.append((*kernel.shared_memory(), 1, "shared memory", what))
        for r in elsewhere:
            what = f"the tensor to which its pointer leads has {r.high - r.low} bytes"
            places.append((r.low, r.high, 1, "", what))
        self.places = places

    def line(self, site: int) -> str:
        lines.resolve(self.kernel, [site])
        number = self.kernel.lines[site]
        if not number:
            return f"kernel {self.kernel.name}"
        text = self.kernel.source.code.splitlines()[number - 1].strip()
        return f"kernel {self.kernel.name}, line {number}: `{text}`"

    def _nearest(self, address: int):
        return min(self.places, key=lambda p: _distance(p, address), default=None)

    def element(self, address: int, size: int) -> str:
        low, high = self.kernel.library_bytes
        if low <= address < high:
            return "a variable of the kernel's file"
        near = self._nearest(address)
        if near is None or not near[3] or self._in_no_place(address):
            return f"address {address:#x}"
        return f"{near[3]}[{(address - near[0]) // near[2]}]"

    def _in_no_place(self, address: int) -> str:
        """What to say of an address that belongs to no argument, or ""."""
        low, high = self.kernel.library_bytes
        near = self._nearest(address)
        if address < _NULL:
            return "that is a null pointer, or a number passed where a pointer is expected"
        if self.kernel.source.variables and low - _MARGIN <= address < high + _MARGIN:
            return "the __constant__ and __device__ variables of the file do not reach that far"
        if near is not None and _distance(near, address) >= _FAR:
            index = (address - near[0]) // near[2]
            nearest = f" (the nearest is {near[3]}: it would be {near[3]}[{index}])" if near[3] else ""
            return f"that is far from every argument{nearest}"
        return ""

    def shared(self, site: int) -> str:
        return "shared memory"

    def near(self, address: int) -> tuple[str, int]:
        near, other = self._nearest(address), self._in_no_place(address)
        if address < _NULL:
            return other, 1 << 62
        low, high = self.kernel.library_bytes
        if other and low - _MARGIN <= address < high + _MARGIN:
            return other, max(low - address, address - high + 1, 0)
        if near is None:
            return "the kernel was given no memory", 1 << 62
        return other or near[4], _distance(near, address)


def _distance(place: tuple, address: int) -> int:
    return max(place[0] - address, address - place[1] + 1, 0)


def _many(n: int) -> str:
    return f"{n} element" if n == 1 else f"{n} elements"


def launch(
    kernel: Kernel,
    grid: Shape,
    block: Shape,
    shared_bytes: int,
    stream: StreamState,
    values: Sequence[bytes],
    operands: Sequence[Operand],
) -> None:
    """Run `kernel` with parameters of these `values`; `operands` are the tensors among them.

    Raises KernelFault for what a kernel must not do, KeyboardInterrupt if it is interrupted.
    """
    line = order.here()

    def body(moved: dict[int, int] | None = None) -> runtime.Result:
        return _run(kernel, grid, block, shared_bytes, values, operands, moved or {})

    if not work.tracking():
        result = body()
    else:
        result = _queued(kernel, grid, block, shared_bytes, stream, operands, line, body)
    if trace.active():
        _note(kernel, grid, block, result)
    if result.report.outcome == abi.INTERRUPTED:
        result.report.site = lines.interrupted_at(kernel, result.report)
    try:
        faults.conclude(kernel.name, result, _Sites(kernel, operands, shared_bytes, result.elsewhere), line)
    except BaseException as error:
        tracebacks.of_their_lines(error)
        raise


def _run(kernel, grid, block, shared_bytes, values, operands, moved) -> runtime.Result:
    """moved: operands whose memory lies elsewhere in a rerun, by position."""
    cells = [ctypes.create_string_buffer(v, len(v)) for v in values]
    for position, address in moved.items():
        cells[position] = ctypes.create_string_buffer(address.to_bytes(8, "little"), 8)
    table = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(c) for c in cells])
    memory = [Memory(low := moved.get(o.position, o.low), low + o.high - o.low) for o in operands]
    tensors = {o.position for o in operands}
    pointers = Pointers(
        kernel.source.variables, [v for i, v in enumerate(values) if i not in tensors], memory
    )
    flags = abi.TRACK | abi.BOUNDS | (abi.SECTORS if trace.active() else 0)
    return runtime.run(
        kernel.entry, ctypes.addressof(table), grid, block,
        [*memory, Memory(*kernel.library_bytes, abi.VARIABLE)], mode=mode(kernel), flags=flags,
        shared_bytes=shared_bytes, static_shared=kernel.shared_memory(), elsewhere=pointers.memory_at,
    )  # fmt: skip


def _queued(kernel, grid, block, shared_bytes, stream, operands, line, body) -> runtime.Result:
    """The launch as work of `stream`: declared by its parameters before, by what it touched after."""
    known = [(o, o.access) for o in operands if o.access is not None]
    threads, blocks = block[0] * block[1] * block[2], grid[0] * grid[1] * grid[2]
    reads = tuple(a for _, a in known)
    writes = tuple(a for o, a in known if not o.constant)
    bases = [(o.position, a.key, a.storage, a.low) for o, a in known]

    def rerun(storages: work.Storages) -> None:
        moved = {}
        for position, key, storage, low in bases:
            memory = storages.get(key) or storage()
            if memory is None:
                raise LookupError("the memory of an argument has been freed")
            moved[position] = memory.data_ptr() + low
        body(moved)

    cost = clock.costs.kernel(
        "cuda_cpp", [(a.key, a.high - a.low) for a in reads], [(a.key, a.high - a.low) for a in writes],
        threads * blocks, clock.multiply_adds(kernel.source.code),
        blocks=blocks, shared=shared_bytes + kernel.static_shared,
    )  # fmt: skip
    job = work.Work(kernel.name, "cuda_cpp", stream, reads, writes, cost=cost, line=line, rerun=rerun)
    with work.on_device(job):
        result = body()
        job.reads, job.writes = _touched(operands, result)
    return result


def _touched(operands: Sequence[Operand], result: runtime.Result) -> tuple[tuple, tuple]:
    reads, writes = [], []
    for operand, memory in zip(operands, result.memory, strict=False):
        for found, low, high in (
            (reads, memory.read_low, memory.read_high),
            (writes, memory.write_low, memory.write_high),
        ):
            if operand.access is not None and low < high:
                found.append(work.Access.of_memory(low, high - low) or operand.access)
    for r in result.elsewhere:
        for found, low, high in ((reads, r.read_low, r.read_high), (writes, r.write_low, r.write_high)):
            if low < high and (access := work.Access.of_memory(low, high - low)) is not None:
                found.append(access)
    return tuple(reads), tuple(writes)


def _note(kernel: Kernel, grid: Shape, block: Shape, result: runtime.Result) -> None:
    memory = [m for m in result.memory if m.space == abi.GLOBAL]
    threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
    read, written = sum(m.bytes_read for m in memory), sum(m.bytes_written for m in memory)
    trace.emit(trace.Launch(kernel.name, "cuda_cpp", read, written, threads))
    loads = [s for s in result.sites if not s.write]
    stores = [s for s in result.sites if s.write]
    trace.emit(
        trace.Sectors(
            kernel.name, sum(s.sectors for s in loads), sum(s.sectors for s in stores),
            sum(s.ideal for s in loads), sum(s.ideal for s in stores),
        )
    )  # fmt: skip
