"""Compiling a kernel for several dtypes at the same time, before it is called."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from grader.simgpu.jiterator import build
from grader.simgpu.jiterator.codegen import CPP_TYPES, KINDS, Program


def precompile(kernel: Any, dtypes: Iterable[torch.dtype], inputs: int) -> None:
    """Compile `kernel` (made by torch.cuda.jiterator) for each dtype, several at a time.

    inputs: how many tensors it will be called with. Only saves time: nothing is launched or recorded, and
    what does not compile says so when it is called.
    """
    extras = tuple(CPP_TYPES.get(type(v), "double") for v in kernel.kwargs_dict.values())
    programs = {}
    for dtype in dtypes:
        kind = KINDS.get(dtype)
        if kind is not None:
            program = Program(
                kernel.code_string, kernel.kernel_name, kind.compute, inputs, kernel.num_outputs,
                kernel.return_by_ref, extras, 16 if kind.itemsize == 1 else 8, casts=False,
            )  # fmt: skip
            programs[program] = str(dtype).removeprefix("torch.")

    def one(item: tuple[Program, str]) -> None:
        try:
            build.compiled(*item)
        except RuntimeError:
            return

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        list(pool.map(one, programs.items()))
