"""Memory that a graph addresses but did not make: nothing keeps it for the graph.

A graph knows addresses. When the tensor behind one is freed, a replay reads and writes what lies there by
then: another tensor's memory, or memory of nobody's.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from grader.simgpu import memory, order, work
from grader.simgpu.order import names
from grader.simgpu.pinned_pool import PinnedStorage


class Outside:
    """The storages of a graph's static tensors, by their keys."""

    def __init__(self, storages: dict[int, Any]):
        self._places = {
            key: (weakref.ref(storage), storage.data_ptr(), storage.nbytes(), type(storage) is PinnedStorage)
            for key, storage in storages.items()
        }

    def gone(self) -> work.Storages:
        """What lies where the freed ones were."""
        return {
            key: _there(address, nbytes, pinned)
            for key, (storage, address, nbytes, pinned) in self._places.items()
            if storage() is None
        }


def _there(address: int, nbytes: int, pinned: bool) -> torch.UntypedStorage:
    owner = None if pinned else memory.storage_at(address)
    if owner is not None and owner.data_ptr() == address and owner.nbytes() >= nbytes:
        return owner
    nobodys = torch.UntypedStorage(nbytes)
    nobodys.fill_(0xFF)
    return nobodys


def report(captured: work.Work, gone: work.Storages, at: order.Line | None) -> None:
    """`captured` is replayed at the line `at`, and some of its tensors are `gone`."""
    access = next(a for a in (*captured.reads, *captured.writes) if a.key in gone)
    tensor, line = names.of_freed(access, captured.line), captured.line
    order.report(
        order.Finding(
            "use_after_free",
            tensor,
            line,
            at,
            "the graph",
            "the graph",
            f"a reference to {tensor} that lives as long as the graph is replayed.",
            f"your {at} replays a graph that uses {tensor} in {line}\n"
            f"{tensor} was freed: the graph goes on using its memory, where by now another tensor may lie.",
        )
    )
