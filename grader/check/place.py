"""Case tensors on the GPU and answers back from it, by unbound methods, so that no answer can lie about
itself.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader import simgpu
from grader.simgpu import work

from ..exercises import Case

POISON = 0xFB  # a float of these bytes is huge and negative in every format, an int an odd negative number


@dataclass(frozen=True)
class Placed:
    """The arguments of one call. `stores` pairs each tensor's whole storage on the GPU with its CPU
    original.
    """

    args: tuple
    stores: tuple[tuple[torch.Tensor, torch.Tensor], ...]


def whole_storage(tensor: torch.Tensor) -> torch.Tensor:
    """A flat view of all elements of the tensor's storage."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.as_strided(tensor, (count,), (1,), 0)


def place(case: Case, before: Placed | None = None) -> Placed:
    """Copy the case's tensors to the GPU, strides, offset and gaps included; other arguments are copied too.

    With `before` (a case of the same shapes) the contents go into its memory, and its tensors are handed
    out again.
    """
    if before is not None and all(_same_size(*pair) for pair in before.stores):
        for (on_gpu, _), tensor in zip(before.stores, case.args, strict=True):
            # through .data: the version counter of the tensor does not tell of new contents
            on_gpu.data.copy_(whole_storage(tensor))
        stores = tuple((pair[0], whole_storage(t)) for pair, t in zip(before.stores, case.args, strict=True))
        return Placed(before.args, stores)
    args, stores = [], []
    for arg in case.args:
        if not isinstance(arg, torch.Tensor):
            args.append(copy.deepcopy(arg))
            continue
        flat = whole_storage(arg)
        on_gpu = flat.to("cuda")
        args.append(on_gpu.as_strided(arg.size(), arg.stride(), arg.storage_offset()))
        stores.append((on_gpu, flat))
    return Placed(tuple(args), tuple(stores))


class _FillEmpty(TorchDispatchMode):
    """Fills what torch.empty and its kin return, while the mode is on, with the poison."""

    _KINDS = (
        torch.ops.aten.empty,
        torch.ops.aten.empty_like,
        torch.ops.aten.empty_strided,
        torch.ops.aten.new_empty,
        torch.ops.aten.new_empty_strided,
    )

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else torch imports its compiler at the first use, which takes two seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if func.overloadpacket in self._KINDS and made.device.type == "cpu" and made.layout is torch.strided:
            _bytes(made).fill_(POISON)
        return made


@contextlib.contextmanager
def poisoned(nbytes: int) -> Iterator[None]:
    """Memory that is allocated but not written inside this block holds the poison.

    On a real GPU blocks of `nbytes`, the size of the result, are filled and freed for the allocator to
    hand out again.
    """
    if simgpu.is_simulated():
        with _FillEmpty():
            yield
        return
    blocks = [torch.full((nbytes,), POISON, dtype=torch.uint8, device="cuda") for _ in range(3) if nbytes]
    del blocks
    yield


def is_on_gpu(value: object) -> bool:
    """True for a dense GPU tensor of PyTorch's own type (no other subclass)."""
    if type(value) is not (simgpu.SimTensor if simgpu.is_simulated() else torch.Tensor):
        return False
    on_gpu = simgpu.is_simulated() or torch.Tensor.is_cuda.__get__(value)
    return on_gpu and torch.Tensor.layout.__get__(value) is torch.strided


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """A plain CPU copy of a GPU tensor as the current stream sees it, conjugate and negative bits applied."""
    if simgpu.is_simulated() and work.tracking():
        tensor = torch.Tensor.clone(torch.Tensor.detach(tensor))
    plain = simgpu.tensors.plain(tensor) if simgpu.is_simulated() else torch.Tensor.detach(tensor).to("cpu")
    return plain.detach().resolve_conj().resolve_neg().clone()


def changed_input(case: Case, placed: Placed) -> int | None:
    """Position of the first argument whose memory is not as it was handed out, gaps included; else None."""
    for position, (now, original) in enumerate(zip(placed.args, case.args, strict=True)):
        if isinstance(original, list) and not _same_numbers(now, original):
            return position
    positions = [i for i, arg in enumerate(case.args) if isinstance(arg, torch.Tensor)]
    for position, (on_gpu, original) in zip(positions, placed.stores, strict=True):
        if not _same_bytes(on_gpu, original):
            return position
    return None


def _same_numbers(now: list, original: list) -> bool:
    pairs = zip(now, original, strict=False)
    return len(now) == len(original) and all(type(a) is type(b) and a == b for a, b in pairs)


def _same_bytes(on_gpu: torch.Tensor, original: torch.Tensor) -> bool:
    return _same_size(on_gpu, original) and torch.equal(_bytes(to_host(on_gpu)), _bytes(original))


def _same_size(on_gpu: torch.Tensor, original: torch.Tensor) -> bool:
    """False for a storage that was resized or freed, which must not be touched."""
    return on_gpu.untyped_storage().nbytes() == original.untyped_storage().nbytes()


def _bytes(flat: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(flat.untyped_storage())


def shares_memory(answer: torch.Tensor, placed: Placed) -> int | None:
    """Position of the tensor argument in whose storage the answer lies, else None."""
    where = torch.Tensor.untyped_storage(answer).data_ptr()
    for position, (on_gpu, _) in enumerate(placed.stores):
        if where and where == on_gpu.untyped_storage().data_ptr():
            return position
    return None
