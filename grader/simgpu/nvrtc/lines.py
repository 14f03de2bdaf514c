"""From an address in compiled CUDA C++ to the line of the learner's text."""

from __future__ import annotations

import ctypes
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable

from grader.simgpu.grid import abi
from grader.simgpu.native.messages import SOURCE
from grader.simgpu.nvrtc.build import Kernel

_DEEP = 4096  # bytes of a stack in which the learner's own function is looked for
_MOST = 32  # addresses found there that are looked up
_TOOLS = ("addr2line", "llvm-addr2line")


def resolve(kernel: Kernel, addresses: Iterable[int]) -> None:
    """Fill `kernel.lines` for `addresses`, which are those after a call. 0: not known."""
    wanted = [a for a in dict.fromkeys(addresses) if a and a not in kernel.lines]
    if not wanted:
        return
    kernel.lines.update(dict.fromkeys(wanted, 0))
    command = _command(kernel)
    if command is None:
        return
    offsets = [hex(a - 1 - kernel.library_bytes[0]) for a in wanted]
    done = subprocess.run([*command, *offsets], capture_output=True, text=True, check=False)
    answers = re.split(r"^0x[0-9a-f]+\n", done.stdout, flags=re.MULTILINE)[1:]
    for address, answer in zip(wanted, answers, strict=False):
        found = re.search(rf"{SOURCE}:(\d+)", answer)  # the innermost function that is theirs
        if found:
            kernel.lines[address] = int(found[1])


def interrupted_at(kernel: Kernel, report: abi.Report) -> int:
    """The site in the learner's text at which an interrupt met the kernel's thread; 0 if unknown."""
    low, high = kernel.library_bytes
    stack = ctypes.string_at(report.address, min(report.length, _DEEP) // 8 * 8) if report.address else b""
    words = [report.index + 1, *struct.unpack(f"<{len(stack) // 8}Q", stack)]
    code = [w for w in words if low < w <= high][:_MOST]
    resolve(kernel, code)
    return next((w for w in code if kernel.lines[w]), 0)


def _command(kernel: Kernel) -> list[str] | None:
    if sys.platform == "darwin":
        return ["xcrun", "atos", "-i", "-fullPath", "-offset", "-o", str(kernel.path)]
    tool = next((t for t in _TOOLS if shutil.which(t)), None)
    return [tool, "-a", "-i", "-e", str(kernel.path)] if tool else None
