"""Counting the kernels that PyTorch's own operations run on the simulated GPU, while a recording is open."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch._C import _EnableTorchFunction as SeeingTensors
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.simgpu import trace

# Operations without a kernel: they only make a tensor over given memory, or reserve memory.
_NO_KERNEL = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_", "set_",
    "detach", "detach_", "alias", "view", "_unsafe_view", "_reshape_alias", "lift_fresh",
    "_local_scalar_dense", "is_same_size", "equal_sizes", "_has_compatible_shallow_copy_type", "as_strided_",
    "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "_conj", "_neg_view",
    "record_stream", "is_pinned",
    "scalar_tensor",  # a number, which travels with the kernel
}  # fmt: skip


def addressed_bytes(t: torch.Tensor) -> int:
    """Bytes of the distinct elements that `t` addresses: an expanded dimension counts once."""
    n = t.element_size()
    for size, stride in zip(t.shape, t.stride(), strict=True):
        if size == 0:
            return 0
        if stride:
            n *= size
    return n


def _is_view(func: torch._ops.OpOverload) -> bool:
    """Does `func` return its input's memory, without writing to it?"""
    returns = func._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


class _Counting(threading.local):
    mode: CountLaunches | None = (
        None  # the one that emits in this thread; modes further out see the same operations
    )


_counting = _Counting()


class CountLaunches(TorchDispatchMode):
    """Emits one Launch for each ATen operation that would run a kernel; composite ones in their parts."""

    def __enter__(self):
        self._outer, _counting.mode = _counting.mode, self
        return super().__enter__()

    def __exit__(self, *exc):
        _counting.mode = self._outer
        return super().__exit__(*exc)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or else the first use imports torch._dynamo, which takes seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with PlainTensors():
            result = func(*args, **kwargs)
        name = func._schema.name.split("::")[-1]
        if _counting.mode is not self or name in _NO_KERNEL or _is_view(func):
            return result
        outputs = [t for t in tree_leaves(result) if _dense(t)]
        written = {id(t): t for t in outputs}
        read = {}
        for spec, value in zip(func._schema.arguments, args, strict=False):
            self._sort(spec, value, read, written)
        by_name = {a.name: a for a in func._schema.arguments}
        for key, value in kwargs.items():
            if key in by_name:
                self._sort(by_name[key], value, read, written)
        if name in _OVERWRITES:
            read = {k: t for k, t in read.items() if k not in written}
        trace.emit(
            trace.Launch(
                name=name,
                kind="torch",
                bytes_read=sum(addressed_bytes(t) for t in read.values()),
                bytes_written=sum(addressed_bytes(t) for t in written.values()),
                numel=max((t.numel() for t in written.values()), default=0),
            )
        )
        return result

    @staticmethod
    def _sort(spec, value, read: dict, written: dict) -> None:
        for t in tree_leaves(value):
            if not _dense(t) or (t.dim() == 0 and not _on_device(t)):
                continue
            if spec.alias_info is not None and spec.alias_info.is_write:
                written[id(t)] = t
                if not spec.is_out:
                    read[id(t)] = t
            else:
                read[id(t)] = t


# In-place operations that do not look at what they overwrite.
_OVERWRITES = {
    "fill_", "zero_", "copy_", "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "geometric_",
    "log_normal_", "cauchy_",
}  # fmt: skip


def _dense(t: object) -> bool:
    return isinstance(t, torch.Tensor) and t.layout is torch.strided


def _on_device(t: torch.Tensor) -> bool:
    return t.is_cuda


def maybe_counting() -> contextlib.AbstractContextManager:
    """CountLaunches if somebody records."""
    return CountLaunches() if trace.active() else contextlib.nullcontext()


@contextlib.contextmanager
def learners_code() -> Iterator[None]:
    """Around a call back into Python from inside an operation: what it does is looked at by itself again."""
    outer, _counting.mode = _counting.mode, None
    try:
        with SeeingTensors():
            yield
    finally:
        _counting.mode = outer
