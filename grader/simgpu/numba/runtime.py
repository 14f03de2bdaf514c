"""What generated code finds in this process: the grid runtime, our device functions, and where they lie."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from grader.simgpu.grid import abi
from grader.simgpu.grid import runtime as grid
from grader.simgpu.native import libraries

CELL_BYTES = 64  # of a GridCell in grid/cpp/abi.h
IN_LINE = {"grid_read": "sim.read", "grid_write": "sim.write"}
_CPP = Path(__file__).parent / "cpp"
_DEVICE, _LIBDEVICE = _CPP / "device.cpp", _CPP / "libdevice.cpp"
_FIELDS = {
    "tid": abi.State.thread,
    "ctaid": abi.State.block,
    "ntid": abi.State.block_dim,
    "nctaid": abi.State.grid_dim,
}

# numba's names of device functions -> ours. Those at the end may make a thread wait for others.
_DEVICE_FUNCTIONS = {
    "llvm.nvvm.membar.cta": "nv_fence",
    "llvm.nvvm.membar.gl": "nv_fence",
    "llvm.nvvm.membar.sys": "nv_fence",
    "llvm.nvvm.atomic.load.add.f32.p0f32": "nv_atomic_add_f32",
    "llvm.nvvm.atomic.load.add.f64.p0f64": "nv_atomic_add_f64",
    "llvm.nvvm.atomic.load.inc.32.p0i32": "nv_atomic_inc",
    "llvm.nvvm.atomic.load.dec.32.p0i32": "nv_atomic_dec",
    "cudaCGGetIntrinsicHandle": "nv_grid_handle",
    "vprintf": "nv_vprintf",
    "cudaCGSynchronize": "nv_grid_sync",
    "llvm.nvvm.barrier0": "nv_barrier",
    "llvm.nvvm.barrier0.popc": "nv_barrier_popc",
    "llvm.nvvm.barrier0.and": "nv_barrier_and",
    "llvm.nvvm.barrier0.or": "nv_barrier_or",
    "llvm.nvvm.bar.warp.sync": "nv_warp_sync",
    "llvm.nvvm.shfl.sync.i32": "nv_shuffle",
    "llvm.nvvm.vote.sync": "nv_vote",
    "llvm.nvvm.match.any.sync.i32": "nv_match_any_32",
    "llvm.nvvm.match.any.sync.i64": "nv_match_any",
    "llvm.nvvm.match.all.sync.i32": "nv_match_all_32",
    "llvm.nvvm.match.all.sync.i64": "nv_match_all",
}
GRID_SYNC = "nv_grid_sync"
WAITING = frozenset([*list(_DEVICE_FUNCTIONS.values())[9:], "grid_active_mask"])


class UnknownFunction(NotImplementedError):
    """A kernel calls a function of a GPU's that the simulated GPU does not have."""


def device_function(name: str) -> str:
    """Our function for numba's `name`."""
    found = _DEVICE_FUNCTIONS.get(name)
    if found is None:
        raise UnknownFunction(f"The simulated GPU does not know the device function `{name}`.")
    return found


@functools.cache
def library() -> ctypes.CDLL:
    """Our device functions, and the grid runtime that they call."""
    grid.library()
    return libraries.load(_DEVICE)


@functools.cache
def _arithmetic() -> ctypes.CDLL:
    """libdevice's functions, for the kernels that call some."""
    libraries.build(libraries.SPECIAL, _LIBDEVICE)
    libraries.load(libraries.SPECIAL)
    return libraries.load(_LIBDEVICE)


@functools.cache
def address(name: str) -> int | None:
    """Where the function or variable `name` lies, of ours or the grid runtime's; None if there is none."""
    arithmetic = name.startswith("__nv_") or name.endswith("_nbst")
    for where in (_arithmetic(),) if arithmetic else (library(), grid.library()):
        if hasattr(where, name):
            return ctypes.addressof(ctypes.c_char.in_dll(where, name))
    return None


@functools.cache
def register_address(name: str) -> int:
    """Where the running thread's register lies: "tid.x", "ntid.y", "ctaid.z", "nctaid.x" or "laneid"."""
    start = address("grid_state")
    if name == "laneid":
        return start + abi.State.lane.offset
    kind, _, axis = name.partition(".")
    return start + _FIELDS[kind].offset + 4 * "xyz".index(axis)


def site_cell() -> int:
    """Where calls of library code leave the learner's line."""
    return address("nv_site")


def dynamic_shared_cell() -> int:
    """Where a launch leaves how many bytes of dynamic shared memory it has."""
    return address("nv_dynamic_shared")


def functions_in_line() -> str:
    """LLVM code of the functions in IN_LINE's values: the usual case of an access, in the kernel itself.

    `void sim.read(ptr cell, i64 address, i32 size, i64 site)`: if the cell expects this thread at this
    address, then it expects the next thread at the next one. Otherwise the runtime has to look.
    """
    return (
        "\n".join(
            f"""
        declare void @grid_cell_{kind}(ptr, i64, i32, i64) cold
        define void @"sim.{kind}"(ptr %cell, i64 %address, i32 %size, i64 %site) alwaysinline {{
            %thread = load i64, ptr inttoptr (i64 {address("grid_thread")} to ptr)
            %at = getelementptr i64, ptr %cell, i64 1
            %expected_address = load i64, ptr %cell
            %expected_thread = load i64, ptr %at
            %here = icmp eq i64 %address, %expected_address
            %now = icmp eq i64 %thread, %expected_thread
            %hit = and i1 %here, %now
            br i1 %hit, label %usual, label %other, !prof !0
        usual:
            %by = getelementptr i64, ptr %cell, i64 2
            %stride = load i64, ptr %by
            %next_address = add i64 %address, %stride
            %next_thread = add i64 %thread, 1
            store i64 %next_address, ptr %cell
            store i64 %next_thread, ptr %at
            ret void
        other:
            call void @grid_cell_{kind}(ptr %cell, i64 %address, i32 %size, i64 %site)
            ret void
        }}"""
            for kind in ("read", "write")
        )
        + '\n!0 = !{!"branch_weights", i32 1000, i32 1}\n'
    )


def printed() -> bytes:
    """What the last launch printed; empties the buffer."""
    used = ctypes.c_int64.in_dll(library(), "nv_printed_bytes")
    text = ctypes.string_at(address("nv_printed"), used.value)
    used.value = 0
    return text
