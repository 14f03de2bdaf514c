"""How much a matrix product, a convolution or an attention computes, from its arguments' shapes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Product:
    """operations: multiplications and additions in all. inner: length of the sums. numbers: float32, tf32,
    half or float64.
    """

    operations: float
    inner: int
    numbers: str


def matrix(m: int, n: int, k: int, numbers: str = "float32", batch: int = 1) -> Product:
    """Return the product of m x k and k x n matrices, `batch` of them."""
    return Product(2.0 * batch * m * n * k, k, numbers)


_ADDED = ("addmm", "addmm_", "baddbmm", "baddbmm_", "_addmm_activation")
_MATRICES = ("mm", "bmm", "matmul", "linear")
_CONVOLUTIONS = ("convolution", "_convolution", "conv1d", "conv2d", "conv3d")


@functools.cache
def possible(name: str) -> bool:
    """May an ATen operation of this name be one of those?"""
    return (
        name in (*_ADDED, *_MATRICES, *_CONVOLUTIONS, "convolution_backward") or "scaled_dot_product" in name
    )


def of(name: str, args: Sequence[object]) -> Product | None:
    """Return what the ATen operation computes, or None where it is bound by memory."""
    tensors = [a for a in args if hasattr(a, "shape")]
    shapes = [tuple(t.shape) for t in tensors]
    if name in _ADDED:
        tensors, shapes, name = tensors[1:], shapes[1:], "mm"
    if name in _MATRICES and len(shapes) >= 2 and min(map(len, shapes[:2])) >= 2:
        *batch, m, k = shapes[0]
        n = shapes[1][-2 if name == "linear" else -1]
        return matrix(m, n, k, _numbers(tensors[0], "matmul"), prod(batch))
    if name in _CONVOLUTIONS and len(shapes) >= 2:
        return _convolution(tensors, shapes, args)
    if name == "convolution_backward" and len(shapes) >= 3:
        out, _, weight = shapes[:3]
        inner = prod(weight[1:])
        return Product(4.0 * prod(out) * inner, inner, _numbers(tensors[0], "cudnn"))
    if "scaled_dot_product" in name and len(shapes) >= 3 and len(shapes[0]) >= 3:
        (*batch, length, width), keys = shapes[0], shapes[1][-2]
        times = 10.0 if "backward" in name else 4.0
        return Product(times * prod(batch) * length * keys * width, width, _numbers(tensors[0], "matmul"))
    return None


def _convolution(tensors: list, shapes: list, args: Sequence[object]) -> Product:
    image, weight = shapes[:2]
    inner = prod(weight[1:])
    steps = args[3] if len(args) > 3 and isinstance(args[3], (list, tuple)) else [1]
    places = prod(-(-size // steps[i % len(steps)]) for i, size in enumerate(image[2:]))
    return Product(2.0 * image[0] * weight[0] * places * inner, inner, _numbers(tensors[0], "cudnn"))


def _numbers(tensor, library: str) -> str:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind in ("float16", "bfloat16"):
        return "half"
    if kind == "float32":
        torch = sys.modules["torch"]
        rules = torch.backends.cuda.matmul if library == "matmul" else torch.backends.cudnn
        return "tf32" if rules.allow_tf32 else "float32"
    return "float64" if kind in ("float64", "complex128") else "float32"
