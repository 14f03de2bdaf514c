"""The caching allocator's reuse of memory: a freed block serves the next request of its size on its stream.

Only blocks with unfinished business are kept here; other freed memory goes back to the machine. Using a block
again is a write like any other to it: whoever may still have to read it is found by the block's history.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch.utils._python_dispatch import _disable_current_modes

from grader.simgpu import memory
from grader.simgpu.order.clocks import Agent
from grader.simgpu.order.history import History

_MOST_BYTES = 256 << 20  # of freed blocks that are kept
_MOST_BLOCKS = 4096
_MOST_STORAGES = 256  # freed ones of a block, through which work that is done again addresses it
_ROUND, _LARGE_ROUND, _LARGE = 512, 2 << 20, 10 << 20  # as CUDA's allocator rounds requests
_CPU = torch.device("cpu")
_untyped_storage = torch.Tensor.untyped_storage
_over_address = torch._C._construct_storage_from_data_pointer


def rounded(nbytes: int) -> int:
    """Bytes of the block that serves a request of `nbytes`."""
    step = _LARGE_ROUND if nbytes >= _LARGE else _ROUND
    return -(-nbytes // step) * step


class Blocks:
    """Freed blocks, by stream and size."""

    def __init__(self) -> None:
        self.dead: deque[memory.SimStorage] = deque()  # freed, and not looked at yet
        self.free: dict[tuple[int, int], list[History]] = {}
        self.held: dict[History, None] = {}  # freed, and not to be used again before something is over
        self.held_at = -1  # the host's version when somebody last looked at those ...
        self.held_since: list[History] = []  # ... and the ones that came later
        self.kept: dict[History, None] = {}  # all of `free` and `held`, the one freed first in front
        self.bytes = 0

    def bury(self) -> None:
        """Put what was freed meanwhile on its stream's list."""
        while self.dead:
            storage = self.dead.popleft()
            history: History = vars(storage).get("_history") or _history_of(storage)
            if not (history.listed or history.used_on or history.nbytes >= memory.LARGE):
                continue
            history.storages.append(storage)
            if len(history.storages) > _MOST_STORAGES:
                del history.storages[1 : _MOST_STORAGES // 2]
            if history.used_on:
                history.holds = [(agent, agent.epoch) for agent in history.used_on]
                history.used_on.clear()
            if not history.freed:
                history.freed = True
                if history.holds:
                    self.held[history] = None
                    self.held_since.append(history)
                else:
                    self._offer(history)
                self.kept[history] = None
                self.bytes += history.nbytes
        while self.bytes > _MOST_BYTES or len(self.kept) > _MOST_BLOCKS:
            self._drop(next(iter(self.kept)))

    def _drop(self, history: History) -> None:
        self._take(history)
        history.storages.clear()

    def _offer(self, history: History) -> None:
        self.free.setdefault((history.stream_id, rounded(history.nbytes)), []).append(history)

    def _take(self, history: History) -> None:
        del self.kept[history]
        if history in self.held:
            del self.held[history]
        else:
            blocks = self.free[history.stream_id, rounded(history.nbytes)]
            blocks.remove(history)
            if not blocks:
                del self.free[history.stream_id, rounded(history.nbytes)]
        self.bytes -= history.nbytes
        history.freed = False

    def find(self, stream_id: int, nbytes: int, host: Agent) -> History | None:
        """Take the block that the allocator hands out for a request on this stream, if one is free."""
        if self.held:
            self._release(host)
        for history in reversed(self.free.get((stream_id, rounded(nbytes)), ())):
            if history.nbytes >= nbytes:
                self._take(history)
                return history
        return None

    def _release(self, host: Agent) -> None:
        """Offer the blocks for whose use elsewhere the host has waited by now."""
        looked_at = self.held_since if self.held_at == host.version else list(self.held)
        self.held_at, self.held_since = host.version, []
        for history in looked_at:
            if history in self.held and all(host.sees(agent, epoch) for agent, epoch in history.holds):
                history.holds.clear()
                del self.held[history]
                self._offer(history)

    def forgotten(self) -> None:
        """Nobody has business with any block: small ones go back, large ones wait to be used again."""
        for history in [h for h in self.kept if h.nbytes < memory.LARGE]:
            self._drop(history)

    def empty(self) -> None:
        """`torch.cuda.empty_cache()`: give back what nobody can still be using."""
        self.bury()
        for history in list(self.kept):
            if not history.listed:
                self._drop(history)


def _history_of(storage: memory.SimStorage) -> History:
    """The history of a large block that nobody followed."""
    history = History(storage.data_ptr(), storage.nbytes())
    born = vars(storage).get("_born")
    history.stream_id = born[0].stream_id if born else 0
    storage._history = history
    return history


def adopt(history: History, t: torch.Tensor, written: bool) -> None:
    """Move the new tensor `t`, over a storage of its own, into the block of `history`: with its values, if it
    is `written` already. Where simulated tensors are taken for plain ones.
    """
    storage = _untyped_storage(t)
    nbytes = storage.nbytes()
    if written:
        history.refill(storage.data_ptr(), nbytes)
    again = _over_address(history.address, _CPU, nbytes)
    again._history = history
    again._block = history.storages[0]  # the memory lives as long as this storage
    memory.settle(again)
    if torch._C._len_torch_dispatch_stack() or t.requires_grad:  # not inside an operation
        with _disable_current_modes(), torch.no_grad():
            t.set_(again, t.storage_offset(), t.size(), t.stride())
    else:
        t.set_(again, t.storage_offset(), t.size(), t.stride())


def fresh(t: torch.Tensor, stream_id: int) -> Any:
    """The history of the new tensor `t` in memory of its own."""
    with PlainTensors():
        storage = _untyped_storage(t)
    if type(storage) is not memory.SimStorage:
        memory.settle(storage)
    history = History(storage.data_ptr(), storage.nbytes())
    history.fresh, history.stream_id = True, stream_id
    storage._history = history
    return history
