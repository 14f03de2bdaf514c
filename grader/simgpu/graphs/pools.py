"""Private memory of CUDA graphs: what a capture makes stays where it is while a graph of its pool lives."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any


class Pool:
    """The storages of one pool, by their keys."""

    def __init__(self, handle: tuple[int, int]):
        self.handle = handle
        self.storages: dict[int, Any] = {}


class Process:
    """The pools that graphs of this process use; and whether graphs are debugged, which holds for all."""

    def __init__(self) -> None:
        self.debugging = False
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.known: weakref.WeakValueDictionary[tuple[int, int], Pool] = weakref.WeakValueDictionary()


process = Process()


def new_handle() -> tuple[int, int]:
    """`torch.cuda.graph_pool_handle()`: the handle of a pool of the user's."""
    return 0, next(process.numbers)


def pool(handle: tuple[int, int] | None) -> Pool:
    """The pool with this handle; without one, a new pool of a graph's own."""
    with process.lock:
        handle = (next(process.numbers), 0) if handle is None else tuple(handle)
        found = process.known.get(handle)
        if found is None:
            found = process.known[handle] = Pool(handle)
        return found
