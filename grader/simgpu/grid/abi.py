"""The structs of cpp/abi.h."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_uint64, c_void_p

LOOP, FIBERS, COOPERATIVE = 0, 1, 2
TRACK, SECTORS, BOUNDS = 1, 2, 4
GLOBAL, SHARED, VARIABLE = 0, 1, 2
# How a launch ended.
OK, INTERRUPTED, STACK_OVERFLOW, BAD_ADDRESS, TRAP, NO_RETURN, ARITHMETIC, ABORTED = range(8)
STATUS, OUT_OF_BOUNDS, MISALIGNED, FAILED, NO_MEMORY, ASSERTED = range(16, 22)
# What a finding is about.
RACE, BARRIER_LEFT, BARRIER_LINES, WARP_DIVERGED = 1, 2, 3, 4
MAX_FINDINGS = 64


class Range(ctypes.Structure):
    """Memory that a kernel may touch, [low, high), and what it touched of it."""

    _fields_ = [
        ("low", c_uint64), ("high", c_uint64), ("space", c_int64),
        ("read_low", c_uint64), ("read_high", c_uint64), ("write_low", c_uint64), ("write_high", c_uint64),
        ("bytes_read", c_uint64), ("bytes_written", c_uint64),
    ]  # fmt: skip


class Thread(ctypes.Structure):
    _fields_ = [("block", c_int32 * 3), ("thread", c_int32 * 3)]


class Finding(ctypes.Structure):
    """a: the earlier of the two accesses (or waits)."""

    _fields_ = [
        ("kind", c_int32), ("space", c_int32), ("address", c_uint64),
        ("size", c_int32), ("write_a", c_int32), ("write_b", c_int32), ("atomic", c_int32),
        ("site_a", c_uint64), ("site_b", c_uint64), ("a", Thread), ("b", Thread),
    ]  # fmt: skip


class Site(ctypes.Structure):
    """What warps did at one place: how often, how many 32-byte sectors, how many would have been enough."""

    _fields_ = [
        ("site", c_uint64), ("warps", c_uint64), ("sectors", c_uint64), ("ideal", c_uint64),
        ("write", c_int64),
    ]  # fmt: skip


class Report(ctypes.Structure):
    _fields_ = [
        ("outcome", c_int32), ("status", c_int32), ("kind", c_int32), ("axis", c_int32),
        ("size", c_int32), ("write", c_int32), ("site", c_uint64), ("address", c_uint64),
        ("index", c_int64), ("length", c_int64), ("where", Thread),
        ("n_findings", c_int64), ("n_sites", c_int64), ("findings", Finding * MAX_FINDINGS),
    ]  # fmt: skip


Elsewhere = ctypes.CFUNCTYPE(c_void_p, c_uint64, c_int32)  # (address, size) -> address of a Range, or None


class Launch(ctypes.Structure):
    _fields_ = [
        ("kernel", c_void_p), ("argument", c_void_p), ("grid", c_int32 * 3), ("block", c_int32 * 3),
        ("mode", c_int32), ("flags", c_int32), ("main_thread", c_int64), ("shared_bytes", c_int64),
        ("static_low", c_uint64), ("static_high", c_uint64), ("n_ranges", c_int64),
        ("ranges", ctypes.POINTER(Range)), ("report", ctypes.POINTER(Report)), ("elsewhere", Elsewhere),
    ]  # fmt: skip


class State(ctypes.Structure):
    """`grid_state`: where the running thread is; lane: in its warp, linear: in its block."""

    _fields_ = [
        ("thread", c_int32 * 3), ("block", c_int32 * 3), ("block_dim", c_int32 * 3),
        ("grid_dim", c_int32 * 3), ("lane", c_int32), ("linear", c_int32),
    ]  # fmt: skip
