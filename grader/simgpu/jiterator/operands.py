"""What TensorIterator does: common dtype, shape and strides of the results, and the order of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Results:
    """What the results of a kernel look like. order: their dimensions, fastest first; inputs: each input's
    strides seen with this shape (0 where it is repeated). Strides are in elements."""

    dtype: torch.dtype
    shape: Shape
    strides: Shape
    order: Shape
    inputs: tuple[Shape, ...]
    numel: int


def results(inputs: Sequence[torch.Tensor]) -> Results:
    """Raises RuntimeError, as PyTorch does, for shapes that do not go together."""
    shape = broadcast([t.shape for t in inputs])
    strides = [expanded_strides(t, shape) for t in inputs]
    own = result_strides(inputs, shape, strides)
    order = sorted(range(len(shape)), key=lambda d: (own[d], -d))
    numel = 1
    for n in shape:
        numel *= n
    return Results(common_dtype(inputs), shape, own, tuple(order), tuple(strides), numel)


def once(shape: Shape, strides: Shape) -> Shape:
    """`shape` with each repeated dimension taken once."""
    return tuple(1 if step == 0 else n for n, step in zip(shape, strides, strict=True))


def converted_strides(t: torch.Tensor, strides: Shape, shape: Shape, dtype: torch.dtype) -> Shape:
    """Strides of `t` after `.to(dtype)`, each repeated dimension taken once; still 0 where it is repeated."""
    like = torch.empty_strided(
        once(shape, strides), [step or 1 for step in strides], dtype=t.dtype, device="meta"
    )
    return tuple(0 if step == 0 else own for step, own in zip(strides, like.to(dtype).stride(), strict=True))


def common_dtype(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """PyTorch's type promotion over all tensors: those without dimensions only count by a higher kind."""
    first = tensors[0].dtype
    if all(t.dtype is first for t in tensors):
        return first
    whole = single = None
    for t in tensors:
        if t.dim():
            whole = t.dtype if whole is None else torch.promote_types(whole, t.dtype)
        else:
            single = t.dtype if single is None else torch.promote_types(single, t.dtype)
    if whole is None or single is None:
        return single if whole is None else whole
    if whole.is_complex:
        return whole
    if whole.is_floating_point:
        return whole.to_complex() if single.is_complex else whole
    if whole is torch.bool or single.is_floating_point or single.is_complex:
        return torch.promote_types(whole, single)
    return whole


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The common shape. Raises RuntimeError, as PyTorch words it, if there is none."""
    out = tuple(shapes[0])
    for shape in shapes[1:]:
        if shape == out:
            continue
        n = max(len(out), len(shape))
        a, b = (1,) * (n - len(out)) + tuple(out), (1,) * (n - len(shape)) + tuple(shape)
        for i in range(n - 1, -1, -1):
            if a[i] != b[i] and a[i] != 1 and b[i] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a[i]}) must match the size of tensor b ({b[i]}) "
                    f"at non-singleton dimension {i}"
                )
        out = tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))
    return out


def expanded_strides(t: torch.Tensor, shape: Shape) -> Shape:
    """Strides (in elements) of `t` seen with `shape`: 0 where it is repeated."""
    own, strides = t.shape, t.stride()
    if own == shape:
        return tuple(strides)
    missing = len(shape) - len(own)
    return (0,) * missing + tuple(
        0 if n == 1 and shape[missing + i] != 1 else strides[i] for i, n in enumerate(own)
    )  # fmt: skip


def order(shape: Shape, strides: Sequence[Shape], sizes: Sequence[int]) -> list[int]:
    """The dimensions, fastest first. strides: of each input, in elements; sizes: bytes of its element."""
    perm = list(range(len(shape) - 1, -1, -1))

    def compare(a: int, b: int) -> int:
        for s, n in zip(strides, sizes, strict=True):
            x, y = s[a] * n, s[b] * n
            if x == 0 or y == 0:
                continue
            if x != y:
                return -1 if x < y else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    for i in range(1, len(perm)):
        dim1 = i
        for dim0 in range(i - 1, -1, -1):
            side = compare(perm[dim0], perm[dim1])
            if side > 0:
                perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
                dim1 = dim0
            elif side < 0:
                break
    return perm


def dense_strides(shape: Shape, perm: Sequence[int]) -> Shape:
    """Strides of a tensor without gaps whose dimensions follow `perm`, fastest first."""
    natural = list(perm) == list(range(len(shape) - 1, -1, -1))
    strides, step = [0] * len(shape), 1
    for d in perm:
        strides[d] = step
        step *= max(shape[d], 1) if natural else shape[d]
    return tuple(strides)


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Do the elements fill a stretch of memory, each place once?"""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= n
    return True


def result_strides(tensors: Sequence[torch.Tensor], shape: Shape, strides: Sequence[Shape]) -> Shape:
    """Strides of the results, as a GPU kernel's results have them."""
    natural = dense_strides(shape, range(len(shape) - 1, -1, -1))
    if all(t.shape == shape for t in tensors):
        if all(t.is_contiguous() for t in tensors):
            return natural
        if len(shape) == 4 and all(t.is_contiguous(memory_format=torch.channels_last) for t in tensors):
            return dense_strides(shape, (1, 3, 2, 0))
        if len(shape) == 5 and all(t.is_contiguous(memory_format=torch.channels_last_3d) for t in tensors):
            return dense_strides(shape, (1, 4, 3, 2, 0))
        if all(s == strides[0] for s in strides) and is_dense(shape, strides[0]):
            return tuple(strides[0])
    return dense_strides(shape, order(shape, strides, [t.element_size() for t in tensors]))


def coalesce(
    shape: Shape, perm: Sequence[int], strides: Sequence[Shape]
) -> tuple[list[int], list[list[int]]]:
    """Dimensions in `perm`'s order, those of size 1 left out, neighbours joined where all allow it."""
    dims: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d in perm:
        if shape[d] == 1:
            continue
        if dims and all(s[d] == own[-1] * dims[-1] for s, own in zip(strides, steps, strict=True)):
            dims[-1] *= shape[d]
            continue
        dims.append(shape[d])
        for s, own in zip(strides, steps, strict=True):
            own.append(s[d])
    if not dims:
        return [1], [[0] for _ in strides]
    return dims, steps
