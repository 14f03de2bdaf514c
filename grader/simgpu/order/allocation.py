"""What the order of work needs to know of allocations: births, deaths, blocks used again, record_stream."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import memory
from grader.simgpu.order import blocks
from grader.simgpu.order.history import History
from grader.simgpu.order.lines import here
from grader.simgpu.order.records import Write
from grader.simgpu.order.regions import whole
from grader.simgpu.order.state import Order, order

_untyped_storage = torch.Tensor.untyped_storage


@functools.cache
def _streams() -> Any:
    from grader.simgpu import streams  # which needs this package

    return streams


def born() -> tuple:
    """What is remembered of a storage that is made now: its stream, when, and the learner's line."""
    state = order()
    if state.blocks.dead:
        with state.lock:
            state.blocks.bury()
    stream = _streams().current()
    agent = stream.agent
    agent.stream_id = stream.id
    return agent, agent.epoch + 1, state.syncs, here()


def buried(storage: memory.SimStorage) -> None:
    """A storage with a history was freed; its block is put on its stream's list before the next work."""
    order().blocks.dead.append(storage)


def bury(state: Order) -> None:
    memory.drain()
    state.blocks.bury()


def forget(state: Order) -> None:
    """Drop the records that the host knows to be over."""
    if state.forget():
        state.blocks.forgotten()


def emptied() -> None:
    """`torch.cuda.empty_cache()`."""
    state = order()
    with state.lock:
        state.blocks.empty()


def allocated(state: Order, t: torch.Tensor, stream: Any, written: bool) -> None:
    with PlainTensors():
        try:
            storage = _untyped_storage(t)
            if not storage.data_ptr() or "_history" in vars(storage):
                return
        except (RuntimeError, NotImplementedError):  # sparse tensors and functorch's wrappers have no memory
            return
        with state.lock:
            if memory.dead or state.blocks.dead:
                bury(state)
            agent = stream.agent
            agent.stream_id = stream.id
            free = state.blocks.find(stream.id, storage.nbytes(), state.host)
            if free is None:
                blocks.fresh(t, stream.id).fresh = not written
            else:
                free.use_again(agent)
                blocks.adopt(free, t, written=written or state.works_here())
            _untyped_storage(t)._made = next(state.numbers)


def recorded(state: Order, t: torch.Tensor, stream: Any) -> None:
    with PlainTensors():
        storage = _untyped_storage(t)
    history = storage.__dict__.get("_history")
    if history is None:
        history = blocks.fresh(t, 0)
        history.fresh = False
    _use_on(state, history, stream)


def handed(state: Order, storage: torch.UntypedStorage, stream: Any, since: int) -> None:
    """Backward hands `stream` memory; what was made since `since` it records there by itself."""
    members = storage.__dict__
    if members.get("_made", -1) >= since and members["_history"].stream_id != stream.id:
        _use_on(state, members["_history"], stream)


def _use_on(state: Order, history: History, stream: Any) -> None:
    stream.agent.stream_id = stream.id
    if stream.agent not in history.used_on:
        history.used_on.append(stream.agent)
    state.touch(history)


def wrote_untracked(state: Order, t: torch.Tensor) -> None:
    """Work that nobody followed has overwritten `t` on the current stream; nobody knows what was there."""
    with PlainTensors():
        storage = _untyped_storage(t)
    history = storage.__dict__.get("_history")
    if history is None:
        storage._born = born()
        return
    agent, epoch, _, line = born()
    with state.lock:
        history.writes[:] = [Write.birth(agent, epoch, whole(storage), line)]
        state.touch(history)
