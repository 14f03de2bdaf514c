"""Numbers and memory layouts for cases, all from one secret seed; no global random state is read or
changed.
"""

from __future__ import annotations

import numpy as np
import torch


class Draw:
    """A source of input tensors (CPU). Equal seeds give equal tensors."""

    def __init__(self, seed: int | tuple[int, ...]):
        self.rng = np.random.default_rng(seed)

    def number(self, low: float, high: float) -> float:
        """A Python float between low and high with all its bits in use."""
        return float(self.rng.uniform(low, high))

    def integer(self, low: int, high: int) -> int:
        """A Python int, both ends included."""
        return int(self.rng.integers(low, high, endpoint=True))

    def readable(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        """Up to 16 different short numbers, halves of both signs and never 0, that people can check by
        hand.
        """
        if dtype == torch.bool:
            return torch.from_numpy(self.rng.permutation(np.arange(count) % 2 == 0))
        if dtype.is_complex:
            return torch.from_numpy(self._short(count) / 2 + 0.5j * self._short(count)).to(dtype)
        if dtype.is_floating_point:
            return torch.from_numpy(self._short(count) / 2).to(dtype)
        drawn = self._short(count)
        return torch.from_numpy(np.abs(drawn) if dtype == torch.uint8 else drawn).to(dtype)

    def _short(self, count):
        sizes = self.rng.permutation(np.arange(1.0, 17))[:count]
        return self.rng.permutation(sizes * np.where(np.arange(count) % 2, -1, 1))

    def values(self, shape: tuple[int, ...] | int, dtype: torch.dtype) -> torch.Tensor:
        """Contiguous values with all bits in use: floats of many sizes and both signs, integers of the
        full range.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if dtype == torch.bool:
            drawn = self.rng.integers(0, 2, shape).astype(np.bool_)
        elif dtype.is_complex:
            drawn = self._floats(shape) + 1j * self._floats(shape)
        elif dtype.is_floating_point:
            drawn = self._floats(shape)
        else:
            info = torch.iinfo(dtype)
            kind = np.dtype(str(dtype).removeprefix("torch."))
            drawn = self.rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
        return torch.from_numpy(np.asarray(drawn)).to(dtype)

    def _floats(self, shape):
        sizes = np.exp2(self.rng.integers(-4, 5, shape))
        return self.rng.uniform(0.5, 1, shape) * sizes * self.rng.choice((-1.0, 1.0), shape)

    def altered(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of a 1-D tensor with three elements drawn anew, none of the first or last eight."""
        copy = tensor.clone()
        inside = torch.from_numpy(self.rng.permutation(np.arange(8, len(copy) - 8))[:3])
        copy[inside] = self.values(3, tensor.dtype)
        return copy

    def strided(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        """Every second element of a larger tensor."""
        return self.values(2 * count + 1, dtype)[1::2]

    def offset(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        """A slice that starts behind its storage's first element, at an odd offset, and ends before the
        last.
        """
        start = 2 * self.integer(0, 3) + 1
        return self.values(start + count + 2, dtype)[start : start + count]

    def transposed(self, rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
        """A rows x columns view whose neighbours in a row are `rows` elements apart."""
        return self.values((columns, rows), dtype).t()

    def expanded(self, rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
        """One row repeated by a stride of 0."""
        return self.values((1, columns), dtype).expand(rows, columns)


def special_values(dtype: torch.dtype) -> list[float]:
    """The numbers that separate careful kernels from careless ones, the most telling first."""
    info = torch.finfo(dtype)
    denormal = info.smallest_normal / 8
    return [
        float("nan"),
        -1.0,
        0.0,
        2.0,
        float("inf"),
        -float("inf"),
        -0.0,
        denormal,
        -denormal,
        info.smallest_normal,
        1.0,
        -2.5,
    ]
