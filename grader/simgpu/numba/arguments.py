"""A launch's arguments: the kernel's parameters, packed, and the arrays among them."""

from __future__ import annotations

import ctypes
import inspect
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.simgpu.grid.runtime import Memory
from grader.simgpu.numba.modules import modules
from grader.simgpu.tensors import SimTensor

_MASKS = {"Q": 2**64 - 1, "I": 2**32 - 1, "H": 2**16 - 1, "B": 255}
_DATA = 4  # an array's parameters: meminfo, parent, nitems, itemsize, data, then shape and strides


@dataclass
class Array:
    """An array argument: the learner's name for it, which parameter is its pointer, the bytes [low, high) it
    spans.

    `strides` in bytes. `host`: the tensor, if its memory is the host's and out of a GPU's reach; then
    `scratch`, a copy, is what the kernel gets.
    """

    name: str
    at: int
    data: int
    low: int
    high: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    host: torch.Tensor | None = None
    scratch: Any = None

    def memory(self) -> Memory:
        return Memory(self.low, self.high)

    def element(self, address: int) -> str:
        """What lies at `address`, as the learner writes it: "x[3, 4]"."""
        left, index = address - self.data, [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda i: -abs(self.strides[i])):
            if self.strides[axis]:
                index[axis], left = divmod(left, self.strides[axis])
        return f"{self.name}[{', '.join(map(str, index))}]"

    def bounds(self) -> str:
        """ "x has 1000 elements" or "x has shape (3, 4)"."""
        if len(self.shape) == 1:
            return f"{self.name} has {self.shape[0]} element{'' if self.shape[0] == 1 else 's'}"
        return f"{self.name} has shape {self.shape}"


def prepare(kernel: Any, args: Sequence[Any], stream: Any, write_back: list) -> tuple[list, list[Array]]:
    """The parameters in order, as numba prepares them from `args`, and the arrays among them.

    What has to be done after the launch (host arrays copied back) is added to `write_back`.
    """
    names = _names(kernel)
    words: list = []
    arrays: list[Array] = []
    for i, (kind, value) in enumerate(zip(kernel.argument_types, args, strict=False)):
        start = len(words)
        kernel._prepare_args(kind, value, stream, write_back, words)
        name = names[i] if i < len(names) else f"argument {i}"
        for label, at, element, ndim in _pointers(name, kind, value, start):
            arrays.append(_array(label, at, element, ndim, words))
    return words, arrays


def _names(kernel: Any) -> list[str]:
    function = getattr(kernel, "py_func", None)  # a kernel that comes from a file has none
    return list(inspect.signature(function).parameters) if function else []


def _pointers(name: str, kind: Any, value: Any, at: int) -> Iterator[tuple[str, int, Any, int]]:
    """The arrays in an argument: (name, index of its first parameter, the array, dimensions as declared)."""
    types = modules().types
    if isinstance(kind, types.Array):
        yield name, at, value, getattr(value, "ndim", kind.ndim)
    elif isinstance(kind, types.BaseTuple):
        for i, (part, element) in enumerate(zip(kind, value, strict=False)):
            yield from _pointers(f"{name}[{i}]", part, element, at)
            at += _width(part)


def _width(kind: Any) -> int:
    """How many parameters a value of this type takes."""
    types = modules().types
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    if isinstance(kind, types.BaseTuple):
        return sum(map(_width, kind))
    return 2 if isinstance(kind, types.Complex) else 1


def _array(name: str, at: int, value: Any, ndim: int, words: list) -> Array:
    numbers = [_number(w) for w in words[at : at + 5 + 2 * ndim]]
    itemsize, data = numbers[3:5]
    shape, strides = tuple(numbers[5 : 5 + ndim]), tuple(numbers[5 + ndim :])
    low = high = data
    if 0 not in shape:
        spans = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
        low += sum(s for s in spans if s < 0)
        high += sum(s for s in spans if s > 0) + itemsize
    found = Array(name, at + _DATA, data, low, high, shape, strides, itemsize)
    if isinstance(value, torch.Tensor) and not isinstance(value, SimTensor) and not value.is_pinned():
        _stand_in(found, value, words)
    return found


def _stand_in(array: Array, tensor: torch.Tensor, words: list) -> None:
    array.host = tensor
    array.scratch = ctypes.create_string_buffer(ctypes.string_at(array.low, array.high - array.low) + b"\0")
    moved = ctypes.addressof(array.scratch) - array.low
    array.low, array.high, array.data = array.low + moved, array.high + moved, array.data + moved
    words[array.at] = array.data


def _number(word: Any) -> int:
    return (word.value or 0) if hasattr(word, "value") else int(word)


def packed(words: list, letters: tuple[str, ...]) -> ctypes.Array:
    """The parameters in memory, one in each 8 bytes, by struct's `letters`; words beyond those are left
    out.
    """
    values = []
    for word, letter in zip(words, letters, strict=False):
        value = word.value if hasattr(word, "value") else word
        if letter[0] in "fd":
            values.append(float(value))
        else:
            values.append(int(value or 0) & _MASKS[letter[0]])
    return ctypes.create_string_buffer(
        struct.pack("<" + "".join(letters[: len(values)]), *values), 8 * len(letters) + 8
    )
