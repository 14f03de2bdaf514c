"""One launch of a kernel over a grid: starts it, ends it, says what happened."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.simgpu.grid import abi
from grader.simgpu.native import libraries

_SOURCE = Path(__file__).parent / "cpp" / "grid.cpp"
_NOBODY = abi.Elsewhere()
_NONE = (1 << 64) - 1  # where what a range was touched at begins, before it is
_one_launch_at_a_time = threading.Lock()  # the runtime has one state: kernels of several threads take turns


@dataclass(frozen=True)
class Memory:
    """Memory that the kernel may touch: bytes [low, high), in which space (abi.GLOBAL, SHARED, VARIABLE)."""

    low: int
    high: int
    space: int = abi.GLOBAL


@dataclass(frozen=True)
class Result:
    """What a launch did. report: how it ended and the findings; memory: one Range for each Memory given;
    sites: the memory accesses of warps, by place; elsewhere: a Range for each other Memory that it found."""

    report: abi.Report
    memory: Sequence[abi.Range]
    sites: list[abi.Site]
    elsewhere: Sequence[abi.Range] = ()


def library() -> ctypes.CDLL:
    """The runtime; its functions (see cpp/abi.h) can be called by every library loaded later."""
    libraries.guard()
    found = libraries.load(_SOURCE)
    found.grid_run.argtypes = [ctypes.POINTER(abi.Launch)]
    found.grid_sites.argtypes, found.grid_sites.restype = (
        [ctypes.POINTER(abi.Site), ctypes.c_int64],
        ctypes.c_int64,
    )
    return found


def address(name: str) -> int:
    """The address of a function or variable of the runtime, for generated code."""
    return ctypes.addressof(ctypes.c_char.in_dll(library(), name))


@dataclass(frozen=True)
class Image:
    """Where a library lies in memory, [low, high), and this thread's copy of its __thread variables."""

    low: int
    high: int
    thread_low: int
    thread_high: int


def image_of(function: int) -> Image:
    """Of the library with the function at this address."""
    bounds = (ctypes.c_uint64 * 4)()
    library().grid_image(ctypes.c_uint64(function), bounds)
    return Image(*bounds)


def _asking(elsewhere: Callable[[int, int], Memory | None], more: list[abi.Range]) -> Any:
    """`elsewhere` as the runtime calls it; what it finds is kept in `more`."""

    def ask(address: int, size: int) -> int | None:
        found = elsewhere(address, size)
        if found is None:
            return None
        more.append(abi.Range(found.low, found.high, found.space, read_low=_NONE, write_low=_NONE))
        return ctypes.addressof(more[-1])

    return abi.Elsewhere(ask)


def run(
    kernel: int,
    argument: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    memory: Sequence[Memory],
    *,
    mode: int = abi.LOOP,
    flags: int = abi.TRACK,
    shared_bytes: int = 0,
    static_shared: tuple[int, int] = (0, 0),
    elsewhere: Callable[[int, int], Memory | None] | None = None,
) -> Result:
    """Run the function at address `kernel`, `int kernel(void* argument)`, once for each thread of the grid.

    mode: abi.LOOP if threads never wait for each other, FIBERS if they may within a block, COOPERATIVE if
    they may in the whole grid. shared_bytes: of grid_shared_memory; static_shared: [low, high) of shared
    arrays that lie elsewhere. elsewhere(address, size): asked for the memory that an access outside all of
    `memory` may touch. Never raises for what the kernel does: see `Result.report.outcome`.
    """
    runtime = library()
    shared = [Memory(*static_shared, abi.SHARED)] if static_shared[1] else []
    if shared_bytes:
        start = address("grid_shared_memory")
        shared.append(Memory(start, start + shared_bytes, abi.SHARED))
    everything = [*memory, *shared]
    ranges = (abi.Range * len(everything))(*[abi.Range(m.low, m.high, m.space) for m in everything])
    report = abi.Report()
    more: list[abi.Range] = []
    main = threading.get_ident() == threading.main_thread().ident
    launch = abi.Launch(
        kernel, argument, grid, block, mode, flags, main, shared_bytes, *static_shared,
        len(everything), ranges, ctypes.pointer(report), _asking(elsewhere, more) if elsewhere else _NOBODY,
    )  # fmt: skip
    with _one_launch_at_a_time:
        runtime.grid_run(ctypes.byref(launch))
        sites = (abi.Site * report.n_sites)()
        used = runtime.grid_sites(sites, report.n_sites)
    return Result(report, ranges[: len(memory)], sites[:used], more)
