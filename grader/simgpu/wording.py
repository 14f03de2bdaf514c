"""Errors that PyTorch words differently for CUDA than for the CPU, put into CUDA's words."""

from __future__ import annotations

import re

import torch

from grader.simgpu import memory

_GIB = 1 << 30

_CUDAS_WORDS = (
    (
        re.compile(r"^expected m1 and m2 to have the same dtype"),
        "expected mat1 and mat2 to have the same dtype",
    ),
)
_NO_HOST_MEMORY = re.compile(r"DefaultCPUAllocator: .*tried to allocate (\d+) bytes")


def as_on_cuda(error: RuntimeError) -> RuntimeError:
    """The error that a CUDA device raises where the CPU raised `error`; `error` itself if it is the same."""
    text = str(error)
    if no_memory := _NO_HOST_MEMORY.search(text):
        return out_of_memory(int(no_memory[1]))
    for pattern, words in _CUDAS_WORDS:
        if pattern.search(text):
            return type(error)(pattern.sub(words, text))
    return error


def _size(n: int) -> str:
    return f"{n / _GIB:.2f} GiB" if n >= _GIB else f"{n / (1 << 20):.2f} MiB"


def out_of_memory(wanted: int) -> torch.OutOfMemoryError:
    """CUDA's out-of-memory error for a request of `wanted` bytes."""
    free, total = memory.free_and_total()
    return torch.OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {_size(wanted)}. GPU 0 has a total capacity of "
        f"{_size(total)} of which {_size(free)} is free. "
        "(The simulated GPU keeps its memory on this machine.) "
        f"Of the allocated memory {_size(memory.counted().current)} is allocated by PyTorch, and "
        f"{_size(memory.ledger.reserved - memory.counted().current)} is reserved by PyTorch but unallocated."
    )


def check_room(wanted: int) -> None:
    """Refuse a request of `wanted` bytes that the device, or the machine behind it, has no room for."""
    __tracebackhide__ = True
    if wanted > memory.free_and_total()[0]:
        raise out_of_memory(wanted)
