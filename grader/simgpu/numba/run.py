"""One run of a kernel over its grid, in the order of a stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace

from grader.simgpu import clock, order, streams, trace, work
from grader.simgpu.grid import abi, runtime
from grader.simgpu.numba import runtime as device
from grader.simgpu.numba.arguments import Array, packed
from grader.simgpu.numba.hostcode import HostCode
from grader.simgpu.numba.state import state

Dim3 = tuple[int, int, int]


@dataclass
class Run:
    """The kernel `name` over `grid` blocks of `block` threads. `words`: its parameters; `dynamic`: bytes of
    dynamic
    shared memory; `function`: the learner's, where it is known; `takes_tensors`: some of its arguments are
    PyTorch's; `printed`: what it printed, once it has run."""

    name: str
    code: HostCode
    words: list
    arrays: list[Array]
    grid: Dim3
    block: Dim3
    dynamic: int
    function: Callable | None = None
    takes_tensors: bool = False
    printed: bytes = b""

    @property
    def threads(self) -> int:
        count = 1
        for n in (*self.grid, *self.block):
            count *= n
        return count

    def queued_on(self, stream: streams.StreamState) -> runtime.Result:
        """Run it in the order of `stream`; never raises for what the kernel does."""
        if not work.tracking():
            result = self._now(self.words, self.arrays)
        else:
            reads, writes = self._rehearsed()
            item = work.Work(
                self.name, "numba", stream, reads, writes,
                cost=self._cost(reads, writes), line=order.here(), rerun=self._again(),
            )  # fmt: skip
            result = work.run(item, lambda: self._now(self.words, self.arrays))
        if trace.active():
            self._note(result)
        return result

    def _now(self, words: list, arrays: list[Array]) -> runtime.Result:
        """Run it on what memory holds now."""
        parameters = packed(words, self.code.letters)
        with state.launching:
            ctypes.c_int32.from_address(device.dynamic_shared_cell()).value = self.dynamic
            ctypes.c_uint64.from_address(device.site_cell()).value = 0  # no line of the learner's yet
            result = runtime.run(
                self.code.thread, ctypes.addressof(parameters), self.grid, self.block,
                [a.memory() for a in arrays], mode=self.code.mode,
                flags=abi.TRACK | (abi.SECTORS if trace.active() else 0),
                shared_bytes=self.code.shared + self.dynamic,
            )  # fmt: skip
            self.printed = device.printed()
        return result

    def _rehearsed(self) -> tuple[tuple[work.Access, ...], tuple[work.Access, ...]]:
        """What it will read and write. That shows when it runs: so it runs, and memory is put back as it
        was.
        """
        key = bytes(packed(self.words, self.code.letters)), self.grid, self.block, self.dynamic
        if self.code.rehearsed[0] != key:
            before = [ctypes.string_at(a.low, a.high - a.low) for a in self.arrays]
            result = self._now(self.words, self.arrays)
            for a, content in zip(self.arrays, before, strict=True):
                ctypes.memmove(a.low, content, len(content))
            self.code.rehearsed = (
                key,
                [(m.read_low, m.read_high) for m in result.memory if m.read_low < m.read_high],
                [(m.write_low, m.write_high) for m in result.memory if m.write_low < m.write_high],
            )
        reads, writes = (
            tuple(a for low, high in regions if (a := work.Access.of_memory(low, high - low)) is not None)
            for regions in self.code.rehearsed[1:]
        )
        return reads, writes

    def _cost(self, reads: tuple, writes: tuple) -> clock.Cost:
        sizes = [[(a.key, a.high - a.low) for a in regions] for regions in (reads, writes)]
        blocks = self.grid[0] * self.grid[1] * self.grid[2]
        host = clock.device().profile.host
        return clock.costs.kernel(
            "numba", *sizes, self.threads, clock.multiply_adds_of(self.function) if self.function else 0.0,
            blocks=blocks, shared=self.code.shared + self.dynamic,
            host=host.numba_tensor if self.takes_tensors else host.numba_array,
        )  # fmt: skip

    def _again(self) -> Callable[[work.Storages], None]:
        """Run it once more, on other memory where its own has been taken (see work.Work.rerun)."""
        places = [(a, work.Access.of_memory(a.low, a.high - a.low)) for a in self.arrays]

        def rerun(storages: work.Storages) -> None:
            words, arrays = list(self.words), []
            for a, access in places:
                if access is None:
                    arrays.append(a)
                    continue
                storage = storages.get(access.key) or access.storage()
                if storage is None:
                    raise LookupError(f"the memory of {a.name} has been freed")
                moved = storage.data_ptr() + access.low - a.low
                words[a.at] = a.data + moved
                arrays.append(replace(a, data=a.data + moved, low=a.low + moved, high=a.high + moved))
            self._now(words, arrays)

        return rerun

    def _note(self, result: runtime.Result) -> None:
        read = sum(m.bytes_read for m in result.memory)
        written = sum(m.bytes_written for m in result.memory)
        trace.emit(trace.Launch(self.name, "numba", read, written, self.threads))
        loads, stores = [s for s in result.sites if not s.write], [s for s in result.sites if s.write]
        trace.emit(
            trace.Sectors(
                self.name, sum(s.sectors for s in loads), sum(s.sectors for s in stores),
                sum(s.ideal for s in loads), sum(s.ideal for s in stores),
            )
        )  # fmt: skip
