"""Pinned host memory: ordinary host memory whose storage knows that it was asked to be pinned.

While the device may still read or write it, the tensors over it are guarded: what PyTorch does to them on
the host is looked at by `order`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import DisableTorchFunction as PlainCalls  # unseen by modes, too
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import aten, devices, order, pinned_pool, pinned_views
from grader.simgpu.pinned_pool import PinnedStorage
from grader.simgpu.streams.state import StreamState, device
from grader.simgpu.tensors import SimTensor

_Tensor = torch.Tensor
_untyped_storage = _Tensor.untyped_storage
_is_pinned = _Tensor.is_pinned
_get = _Tensor.__getitem__


def pin(t: _Tensor) -> _Tensor:
    """Say of the memory of the plain tensor `t` that it is pinned; returns `t`."""
    storage = _untyped_storage(t)
    pinned_pool.pin(storage)
    pinned_views.note(storage, t)
    return t


def owner(t: _Tensor) -> PinnedStorage | None:
    """The pinned storage in which the host's strided tensor `t` lies; None if it is pageable."""
    storage = _untyped_storage(t)
    if type(storage) is PinnedStorage:
        return storage if storage.nbytes() else None
    return pinned_pool.storage_at(storage.data_ptr())


def make(func: Any, args: tuple, kwargs: dict) -> _Tensor:
    """Call the factory `func`, which was asked for `pin_memory=True`."""
    made = func(*args, **{k: v for k, v in kwargs.items() if k != "pin_memory"})
    if made.device.type != "cpu":
        raise RuntimeError("Only dense CPU tensors can be pinned")
    return pin(made)


def is_pinned(self: _Tensor, device: Any = None) -> bool:
    if isinstance(self, SimTensor):
        return False
    if self.layout is torch.sparse_coo:
        return is_pinned(self._values())
    if self.layout is torch.strided and owner(self) is not None:
        return True
    return _is_pinned(self) if device is None else _is_pinned(self, device)


def storage_is_pinned(self: torch.UntypedStorage, device: Any = "cuda") -> bool:
    return pinned_pool.storage_at(self.data_ptr()) is not None


def pin_memory(self: _Tensor, device: Any = None) -> _Tensor:
    if device is not None and not devices.is_cuda(device):
        raise RuntimeError(f"{torch.device(device).type} device type not an accelerator.")
    on_device = isinstance(self, SimTensor) or self.device.type != "cpu"
    if on_device or self.layout not in (torch.strided, torch.sparse_coo):
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    if self.layout is torch.sparse_coo:
        parts = pin_memory(self._indices()), pin_memory(self._values())
        return torch.sparse_coo_tensor(*parts, self.size(), is_coalesced=self.is_coalesced())
    copy = torch.empty_strided(self.size(), self.stride(), dtype=self.dtype, device="cpu")
    return pin(copy).copy_(self.detach())


# ------------------------------------------------------------------ while a copy may still be on its way

# What does not look at the values, whatever it returns.
_METADATA = {
    "__get__", "__set__", "__len__", "__hash__", "size", "stride", "dim", "ndimension", "numel", "nelement",
    "element_size", "storage_offset", "is_contiguous", "is_pinned", "is_floating_point", "is_complex",
    "is_conj", "is_neg", "is_signed", "is_inference", "is_shared", "is_same_size", "is_set_to", "_is_view",
    "dim_order", "data_ptr", "untyped_storage", "_typed_storage", "storage", "storage_type", "get_device",
    "type", "register_hook", "retain_grad", "empty_like", "zeros_like", "ones_like", "full_like",
    "rand_like", "randn_like", "randint_like", "new_empty", "new_empty_strided", "new_zeros", "new_ones",
    "new_full",
}  # fmt: skip
# What changes the tensor, by its name, and not its memory.
_IN_PLACE_METADATA = {
    "requires_grad_", "set_", "resize_", "resize_as_", "detach_", "squeeze_", "unsqueeze_", "t_",
    "transpose_", "swapaxes_", "swapdims_", "as_strided_", "rename_", "share_memory_",
}  # fmt: skip
_ARRAYS = {"numpy", "__array__"}
_OF_THE_CLASS = {"__repr__", "__format__", "__deepcopy__", "__reduce_ex__"}  # ask what class a tensor has


class GuardedTensor(_Tensor):
    """A pinned tensor that the device may still read or write."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        __tracebackhide__ = True
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if any(issubclass(t, SimTensor) for t in types):
            return SimTensor.__torch_function__(func, types, args, kwargs)
        guarded = _guarded(args) + _guarded(kwargs.values())
        if name in _OF_THE_CLASS:
            return _as_plain(func, args, kwargs, guarded)
        changed = _changed(name, args, kwargs)
        parts = [p for t in changed for p in _parts(name, t, args)]
        for t in parts:
            order.host_writes(t)
        with PlainTensors():
            result = func(*args, **kwargs)
        for t in parts:
            order.host_wrote(t)
        if name in _ARRAYS:
            order.numpy_view(args[0], result)
        elif not _views(result, guarded) and name not in _METADATA and name not in _IN_PLACE_METADATA:
            for t in guarded:
                if not any(t is c for c in changed):
                    for part in _parts(name, t, args):
                        order.host_reads(part)
        return result


GuardedTensor.__name__ = GuardedTensor.__qualname__ = "Tensor"
GuardedTensor.__module__ = "torch"


def _guarded(values: Any) -> list[_Tensor]:
    """The guarded tensors in arguments, or in results."""
    found = []
    for v in values:
        if isinstance(v, GuardedTensor):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += _guarded(v)
    return found


def read_as_numbers(func: Any, on_host: tuple[_Tensor, ...]) -> None:
    """`func`, an operation of the device, takes 0-dim tensors of the host's for numbers: they are read."""
    guarded = _guarded(on_host)
    if guarded and getattr(func, "__name__", "") != "__setitem__":
        with PlainTensors():
            numbers = [t for t in guarded if not t.dim()]
        for t in numbers:
            order.host_reads(t)


def _changed(name: str, args: tuple, kwargs: dict) -> list[_Tensor]:
    """The tensors that the host is about to change."""
    given = [kwargs.get("out")]
    if args and aten.writes_in_place(name) and name not in _IN_PLACE_METADATA:
        given.append(args[0])
    flat = [t for g in given for t in (g if isinstance(g, (list, tuple)) else (g,))]
    return [t for t in flat if isinstance(t, _Tensor)]


def _parts(name: str, t: _Tensor, args: tuple) -> list[_Tensor]:
    """What the call looks at of its argument `t`: some of it, if it is indexed."""
    if name not in ("__getitem__", "__setitem__") or t is not args[0]:
        return [t]
    with PlainCalls():
        part = _get(t, args[1])
        if not part.numel() or _untyped_storage(part)._cdata == _untyped_storage(t)._cdata:
            return [part]
        rows = torch.arange(t.shape[0], device="cpu").view(-1, *[1] * (t.dim() - 1)).expand(t.shape)
        return [_get(t, row) for row in _get(rows, args[1]).unique().tolist()]


def _views(result: Any, guarded: list[_Tensor]) -> bool:
    """Is the result nothing but guarded memory? Then it is guarded, too."""
    results = result if isinstance(result, (list, tuple)) else (result,)
    if not (guarded and results and all(isinstance(r, _Tensor) for r in results)):
        return False
    with PlainTensors():
        owners = {_untyped_storage(t)._cdata: t for t in guarded}
        sharing = [r for r in results if r.layout is torch.strided and _untyped_storage(r)._cdata in owners]
        for r in sharing:
            if type(r) is _Tensor:
                storage = owner(r)
                pinned_views.note(storage, r)
                device().guards.join(storage._cdata, r, GuardedTensor)
        return len(sharing) == len(results)


def _as_plain(func: Any, args: tuple, kwargs: dict, guarded: list[_Tensor]) -> Any:
    """The host looks at tensors, and at their class, of which nobody is to see ours."""
    for t in guarded:
        order.host_reads(t)
        t.__class__ = _Tensor
    try:
        return func(*args, **kwargs)
    finally:
        with PlainTensors():
            for t in guarded:  # unless another thread has waited meanwhile
                device().guards.join(owner(t)._cdata, t, GuardedTensor)


def guard(t: _Tensor, stream: StreamState) -> None:
    """The last work of `stream` reads or writes the pinned tensor `t`: all over its memory are guarded."""
    if stream.capture is not None:
        stream.capture.guard(t)
        return
    guards = device().guards
    with PlainTensors():
        storage = owner(t)
        tensors = guards.views.over(storage, t)
        guards.put(storage._cdata, tensors, GuardedTensor, stream.agent, stream.agent.epoch)


def patches():
    yield _Tensor, "is_pinned", is_pinned
    yield _Tensor, "pin_memory", pin_memory
    yield torch.UntypedStorage, "is_pinned", storage_is_pinned
