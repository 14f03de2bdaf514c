"""What a call of a kernel comes to, worked out once for each combination of dtypes and layouts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from grader.simgpu.jiterator import build, operands
from grader.simgpu.jiterator.codegen import KINDS, Kind, Program

MAX_WIDTH = 8  # elements that a GPU thread loads at once, if alignment allows


@dataclass
class Plan:
    """One specialisation, ready to launch."""

    program: Program
    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # of the results, in elements
    kind: Kind
    vectorizable: bool
    contiguous: bool
    convert: tuple[bool, ...]  # which inputs are converted by PyTorch first
    compiled: build.Compiled
    words: list[int]  # for launch.cpp
    pointers: list[int]  # where in `words` the addresses go: inputs, then outputs
    packer: struct.Struct
    noted: set[int] = field(default_factory=set)  # widths for which this process has recorded a compile

    def width(self, addresses: Sequence[int]) -> int:
        """How many elements a GPU thread would load at once from these addresses."""
        if not self.vectorizable:
            return 1
        bits = 0
        for a in addresses:
            bits |= a
        return min(MAX_WIDTH, max(1, (bits & -bits) // self.kind.itemsize))

    def packed(self, addresses: Sequence[int], width: int, main_thread: bool) -> bytes:
        words = self.words.copy()
        words[5] = torch.get_num_threads()
        words[6] = main_thread
        words[7] = width
        for at, address in zip(self.pointers, addresses, strict=True):
            words[at] = address
        return self.packer.pack(*words)


def make(
    code: str,
    name: str,
    by_reference: bool,
    num_outputs: int,
    inputs: Sequence[torch.Tensor],
    extras: tuple[str, ...],
) -> Plan | operands.Results:
    """The plan for these inputs; only their dtypes, shapes and strides matter.

    Where the result has no elements, nothing is compiled: then it is only what the results look like.
    Raises RuntimeError for shapes that do not go together, dtypes without kernels, code with errors.
    """
    results = operands.results(inputs)
    if results.numel == 0:
        return results
    if num_outputs > 8:
        raise RuntimeError(
            "iter.noutputs() <= 8 INTERNAL ASSERT FAILED: "
            f"a jiterator kernel has at most 8 outputs, got {num_outputs}"
        )
    kind = KINDS.get(results.dtype)
    if kind is None:
        raise RuntimeError(f"invalid type for jiterator: kernels are not compiled for {results.dtype}")
    casts = any(t.dtype is not results.dtype for t in inputs)
    work = 16 if kind.itemsize == 1 else 8
    complex_cast = casts and "complex" in code
    program = Program(
        code, name, kind.compute, len(inputs), num_outputs, by_reference, extras, work, complex_cast
    )  # fmt: skip

    kinds, convert, strides = [], [], []
    for t, s in zip(inputs, results.inputs, strict=True):
        own = KINDS.get(t.dtype)
        as_it_is = own is not None and own.compute == kind.compute
        kinds.append(own if as_it_is else kind)
        convert.append(not as_it_is)
        strides.append(s if as_it_is else operands.converted_strides(t, s, results.shape, results.dtype))
    dims, steps = operands.coalesce(results.shape, results.order, [results.strides, *strides])
    contiguous = dims == [1] or (len(dims) == 1 and all(s == [1] for s in steps))
    vectorizable = contiguous and not casts

    words = [0, results.numel, len(inputs), num_outputs, len(dims), 0, 0, 0, work, *dims]
    pointers = []
    for own, step in zip(kinds, steps[1:], strict=True):
        pointers.append(len(words))
        words += (0, own.layout, contiguous or step == [1], *(x * own.itemsize for x in step))
    for _ in range(num_outputs):
        pointers.append(len(words))
        words += (0, kind.layout)
    compiled = build.compiled(program, str(results.dtype).removeprefix("torch."))
    words[0] = compiled.run
    return Plan(
        program, results.dtype, results.shape, results.strides, kind, vectorizable, contiguous,
        tuple(convert), compiled, words, pointers, struct.Struct(f"={len(words)}q"),
    )  # fmt: skip
