"""What ATen operations do to memory, read from their schemas."""

from __future__ import annotations

import functools
from typing import Any

import torch

from grader.simgpu import memory

_Tensor = torch.Tensor
_STRIDED = torch.strided
_OPERANDS = (_Tensor, list, tuple)  # what is, or may hold, a tensor argument

# Operations without a kernel: they only make a tensor over given memory, or reserve memory.
_ALLOCATE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
_NO_KERNEL = _ALLOCATE | {
    "resize_", "resize_as_", "set_",
    "detach", "detach_", "alias", "view", "_unsafe_view", "_reshape_alias", "lift_fresh", "is_same_size",
    "equal_sizes", "_has_compatible_shallow_copy_type", "as_strided_", "squeeze_", "unsqueeze_", "t_",
    "transpose_", "swapaxes_", "swapdims_", "_conj", "_neg_view", "record_stream", "is_pinned",
    "scalar_tensor",  # a number, which travels with the kernel
}  # fmt: skip
# In-place operations that do not look at what they overwrite.
_OVERWRITES = {
    "fill_", "zero_", "copy_", "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "geometric_",
    "log_normal_", "cauchy_",
}  # fmt: skip
# The host reads a number of the result's before it can go on, though the tags do not say so.
_HOST_READS = {"_linalg_check_errors", "_ctc_loss", "histc"}
_MASKED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
_READS_BACK = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class Operation:
    """An ATen operation: its name, whether it runs a kernel, and what it does with each tensor argument."""

    __slots__ = (
        "allocates",
        "draws",
        "func",
        "has_kernel",
        "is_item",
        "may_wait",
        "name",
        "_by_name",
        "_positions",
    )

    def __init__(self, func: torch._ops.OpOverload):
        self.func = func
        schema = func._schema
        self.name = name = schema.name.split("::")[-1]
        returns = schema.returns
        is_view = bool(returns) and all(
            r.alias_info is not None and not r.alias_info.is_write for r in returns
        )
        self.is_item = name == "_local_scalar_dense"
        self.has_kernel = not (is_view or name in _NO_KERNEL)
        self.allocates = name in _ALLOCATE
        self.draws = torch.Tag.nondeterministic_seeded in func.tags
        self.may_wait = (
            self.is_item or name in _HOST_READS or name in _MASKED or not _READS_BACK.isdisjoint(func.tags)
        )
        self._positions = [self._use(a, name) for a in schema.arguments]
        self._by_name = {a.name: self._use(a, name) for a in schema.arguments}

    @staticmethod
    def _use(argument: Any, name: str) -> tuple[bool, bool]:
        """(reads, writes) of one argument."""
        written = argument.alias_info is not None and argument.alias_info.is_write
        return not (written and (argument.is_out or name in _OVERWRITES)), written

    def operands(self, args: tuple, kwargs: dict) -> tuple[dict[int, _Tensor], dict[int, _Tensor]]:
        """The strided tensors that it reads and those that it writes, by their ids."""
        reads: dict[int, _Tensor] = {}
        writes: dict[int, _Tensor] = {}
        for use, value in zip(self._positions, args, strict=False):
            if type(value) is _Tensor:  # the quick way of the usual ones
                if value.layout is _STRIDED:
                    if use[0]:
                        reads[id(value)] = value
                    if use[1]:
                        writes[id(value)] = value
            elif isinstance(value, _OPERANDS):
                _sort(value, use, reads, writes)
        for key, value in kwargs.items():
            if isinstance(value, _OPERANDS):
                _sort(value, self._by_name.get(key, (True, False)), reads, writes)
        return reads, writes

    def waits(self, args: tuple) -> bool:
        """Does the host have to wait for the result, to know its size or to take it for a number? Only
        where it `may_wait`.
        """
        if self.name not in _MASKED:
            return True
        indices = [t for t in args[1] if t is not None]
        if not any(t.dtype in (torch.bool, torch.uint8) for t in indices):
            return False
        # A number of the host's for all that one mask selects: masked_fill.
        number = len(args) > 2 and args[2].numel() == 1 and not memory.is_resident(args[2])
        return not (number and len(indices) == 1)


_operations: dict[int, Operation] = {}  # by the ids of their functions, which they keep alive


def _sort(value: Any, use: tuple[bool, bool], reads: dict, writes: dict) -> None:
    if isinstance(value, _Tensor):
        if value.layout is _STRIDED:
            if use[0]:
                reads[id(value)] = value
            if use[1]:
                writes[id(value)] = value
    else:
        for v in value:
            if isinstance(v, _OPERANDS):
                _sort(v, use, reads, writes)


@functools.cache
def writes_in_place(name: str) -> bool:
    """Does the function or method called `name` change its first argument?"""
    if name.endswith("__"):
        return name == "__setitem__" or (
            name.startswith("__i") and name not in ("__index__", "__int__", "__invert__")
        )
    return name.endswith("_") and not name.startswith("__")


def operation(func: torch._ops.OpOverload) -> Operation:
    """What there is to know of `func`."""
    found = _operations.get(id(func))
    if found is None:
        found = _operations[id(func)] = Operation(func)
    return found


def tensors_of(result: Any) -> list[_Tensor]:
    """The strided tensors that an operation returned."""
    if isinstance(result, _Tensor):
        return [result] if result.layout is torch.strided else []
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors_of(r)]
    return []


def addressed_bytes(t: _Tensor) -> int:
    """Bytes of the distinct elements that `t` addresses: an expanded dimension counts once."""
    n = t.element_size()
    for size, stride in zip(t.shape, t.stride(), strict=True):
        if size == 0:
            return 0
        if stride:
            n *= size
    return n
