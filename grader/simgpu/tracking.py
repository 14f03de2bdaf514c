"""The dispatch mode that turns PyTorch's operations into work of the device, while anybody wants to know.

Composite operations come in their parts, as on a GPU: each ATen operation that would run a kernel is one
piece of work on the current stream. It goes through the door while work is tracked, and is counted while a
recording is open. Without either, operations run without this mode.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch._C import _EnableTorchFunction as SeeingTensors
from torch._C import _pop_torch_dispatch_stack as _pop
from torch._C import _push_on_torch_dispatch_stack as _push
from torch.utils._python_dispatch import TorchDispatchMode

from grader.simgpu import asserts, aten, clock, memory, order, streams, trace, work
from grader.simgpu.again import Again
from grader.simgpu.aten import addressed_bytes
from grader.simgpu.backward_streams import Backward
from grader.simgpu.streams import debug, waits

# Functions whose results have sizes that the host has to wait for.
_READ_BACK = {"nonzero", "masked_select", "unique", "unique_consecutive", "bincount", "argwhere"}
# What gives a number of a tensor without looking at its values.
_METADATA = {
    "__len__", "data_ptr", "dim", "element_size", "get_device", "is_coalesced", "is_complex", "is_conj",
    "is_contiguous", "is_distributed", "is_floating_point", "is_inference", "is_neg", "is_pinned",
    "is_same_size", "is_set_to", "is_shared", "is_signed", "ndimension", "nelement", "numel", "size",
    "sparse_dim", "dense_dim", "storage_offset", "stride", "__get__", "__hash__", "q_scale",
}  # fmt: skip
_WAITS = {"_local_scalar_dense": "item"}  # what learners call what waits for the device


class _Thread(threading.local):
    mode: DeviceWork | None = None  # the one that sees this thread's work; modes further out see it too
    spare: DeviceWork | None = None  # one that is not in use, for `run`
    backward: Backward | None = None  # the engine's run that this thread is in
    learners: bool = False  # does that run code of the learner's now?


_thread = _Thread()


def wanted() -> bool:
    """Does anybody want to know of the operations of the device?"""
    return trace.active() or work.tracking() or debug.mode() != 0


def maybe() -> contextlib.AbstractContextManager:
    """DeviceWork, if anybody wants to know."""
    return DeviceWork() if wanted() else contextlib.nullcontext()


def untracked(func: Any, args: tuple, kwargs: dict, result: Any) -> None:
    """`func` ran without being followed: what `order` has to know of it all the same.

    Streams that are made later are not ordered after what it wrote, unless the host has waited since.
    """
    name = getattr(func, "__name__", "")
    if name in _READ_BACK or (isinstance(result, (bool, int, float, complex)) and name not in _METADATA):
        waits.settled(streams.current())
    elif aten.writes_in_place(name):
        _overwritten(args[:1])
    elif "out" in kwargs:
        _overwritten(kwargs["out"])


def _overwritten(tensors: Any) -> None:
    with PlainTensors():
        for t in aten.tensors_of(tensors):
            if memory.is_resident(t):
                order.wrote_untracked(t)


@contextlib.contextmanager
def learners_code() -> Iterator[None]:
    """Around a call back into Python from inside an operation: what it does is looked at by itself again."""
    outer = _thread.mode, _thread.learners
    _thread.mode, _thread.learners = None, True
    try:
        with SeeingTensors():
            yield
    finally:
        _thread.mode, _thread.learners = outer


@contextlib.contextmanager
def backward(roots: Any, gradients: Any) -> Iterator[None]:
    """Around a run of autograd's engine from the simulated tensors `roots`, with their `gradients`."""
    if not wanted():
        yield
        return
    if work.tracking() and streams.current().capture is None:  # which would miss the work that made them
        with PlainTensors():
            for root, gradient in zip(roots, gradients, strict=False):
                ours = isinstance(root, torch.Tensor) and memory.is_resident(root)
                if ours and isinstance(gradient, torch.Tensor) and not memory.is_resident(gradient):
                    order.allocated(gradient, streams.current(), written=True)  # ones that PyTorch made
                    memory.note(gradient)
    outer = _thread.backward, _thread.learners
    _thread.backward, _thread.learners = Backward(roots, gradients), False
    try:
        with DeviceWork():
            yield
    finally:
        _thread.backward.end()
        _thread.backward, _thread.learners = outer


def in_device_work() -> bool:
    """Does this thread run an operation of the device now, and follow it?"""
    return _thread.mode is not None


def follow_backward(gradients: Any = ()) -> None:
    """Inside a run of the engine: go to the stream of the node that runs now, which is handed `gradients`."""
    if _thread.backward is not None:
        _thread.backward.follow()
        _thread.backward.hand(gradients)


def run(func: Any, args: tuple, kwargs: dict) -> Any:
    """`func(*args, **kwargs)`, an operation of PyTorch's, under DeviceWork.

    Without what `TorchDispatchMode.__enter__` tells torch.compile of modes: inside an operation nobody
    compiles, and it takes longer than pushing the mode.
    """
    __tracebackhide__ = True
    here = _thread
    outer, mode = here.mode, here.spare or DeviceWork()
    here.mode, here.spare = mode, None
    _push(mode)
    try:
        with PlainTensors():
            return func(*args, **kwargs)
    finally:
        _pop(None)
        here.mode, here.spare = outer, mode


class DeviceWork(TorchDispatchMode):
    """Each ATen operation that would run a kernel becomes a piece of work; composite ones in their parts."""

    def __enter__(self):
        self._outer, _thread.mode = _thread.mode, self
        return super().__enter__()

    def __exit__(self, *exc):
        _thread.mode = self._outer
        return super().__exit__(*exc)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or else the first use imports torch._dynamo, which takes seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        __tracebackhide__ = True
        kwargs = kwargs or {}
        with PlainTensors():
            here = _thread
            if here.mode is not self:
                return func(*args, **kwargs)
            if here.backward is not None:
                here.backward.follow()
            operation = aten.operation(func)
            if not operation.has_kernel:
                result = func(*args, **kwargs)
                if operation.allocates and work.tracking():
                    for t in aten.tensors_of(result):
                        _allocate(t, streams.current())
                return result
            return _run(operation, func, args, kwargs)


def _run(operation: aten.Operation, func: Any, args: tuple, kwargs: dict) -> Any:
    __tracebackhide__ = True
    waits = operation.may_wait and operation.waits(args)
    if waits:
        debug.check()
    reads, writes = operation.operands(args, kwargs)
    if work.tracking():
        result, made = _track(operation, func, args, kwargs, reads, writes)
    else:
        result = asserts.run(func, args, kwargs)
        made = _made(result, reads, writes)
    if trace.active() and not operation.is_item:
        _count(operation, reads, [*writes.values(), *made])
    if waits:
        name = _WAITS.get(operation.name, operation.name)
        work.host_sync(streams.current(), name, checked=False)
    return result


def _count(operation: aten.Operation, reads: dict, written: list[torch.Tensor]) -> None:
    """Tell recordings of the kernel; a 0-dim tensor of the host's is a number, which travels with it."""
    read = sum(addressed_bytes(t) for t in reads.values() if t.dim() or memory.is_resident(t))
    trace.emit(
        trace.Launch(
            name=operation.name,
            kind="torch",
            bytes_read=read,
            bytes_written=sum(addressed_bytes(t) for t in written),
            numel=max((t.numel() for t in written), default=0),
        )
    )


def _made(result: Any, reads: dict, writes: dict) -> list[torch.Tensor]:
    """The new tensors among the results."""
    if isinstance(result, torch.Tensor) and (id(result) in writes or id(result) in reads):
        return []
    return [t for t in aten.tensors_of(result) if id(t) not in writes and id(t) not in reads]


def _track(operation, func, args, kwargs, reads, writes) -> tuple[Any, list[torch.Tensor]]:
    """Run the operation as a piece of work on the current stream; its result and the new tensors in it."""
    accesses: dict[int, work.Access] = {}
    read, written = _accesses(reads, accesses), _accesses(writes, accesses)
    if not accesses and (reads or writes):  # the host's own
        result = func(*args, **kwargs)
        return result, _made(result, reads, writes)
    stream = streams.current()
    if _thread.backward is not None and not _thread.learners:
        _thread.backward.read(stream, read)
    again = Again(func, args, kwargs, accesses, operation.draws)
    piece = work.Work(operation.name, "torch", stream, read, written, line=order.here(), rerun=again)
    if operation.is_item:
        piece.kind, piece.engine = "copy", "d2h"
        order.host_looks()
    with work.on_device(piece):
        result = asserts.run(func, args, kwargs)
        made = _made(result, reads, writes)
        if made:
            for t in made:
                _allocate(t, stream)
            if made[0] is result:
                again.made = (work.Access.of(result),)
            else:
                fresh = {id(t): work.Access.of(t) for t in made}
                again.made = tuple(fresh.get(id(t)) for t in aten.tensors_of(result))
            piece.writes += tuple(a for a in again.made if a is not None)
        piece.cost = _cost(operation, args, piece)
    return result, made


def _accesses(tensors: dict[int, torch.Tensor], known: dict[int, work.Access]) -> tuple[work.Access, ...]:
    """Those of the tensors in memory of the device; a tensor has one, also if it is read and written."""
    found = []
    for key, t in tensors.items():
        access = known.get(key)
        if access is None:
            storage = memory.storage_of(t)
            if type(storage) is not memory.SimStorage:
                continue
            access = known[key] = work.Access.over(t, storage)
        found.append(access)
    return tuple(found)


def _allocate(t: torch.Tensor, stream: streams.StreamState) -> None:
    """`t` is new memory of `stream`; it may be a block that was used before."""
    if not memory.is_resident(t):
        order.allocated(t, stream)
        memory.note(t)


def _cost(operation: aten.Operation, args: tuple, piece: work.Work) -> clock.Cost:
    if operation.is_item:
        return clock.costs.copy(8, "d2h", True)
    read = [(a.key, a.nbytes) for a in piece.reads]
    written = [(a.key, a.nbytes) for a in piece.writes]
    return clock.costs.torch_op(operation.name, read, written, args)
