"""Backward runs on the streams of its forward: each node on the stream on which its operation ran.

PyTorch's engine sees CPU tensors here, so its rules for streams are kept by us: a node waits for those that
hand it gradients, the first ones for the stream that called backward, and at the end that stream waits for
all. A gradient that goes to another stream is recorded there, as `record_stream` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors
from torch._C import _current_autograd_node

from grader.simgpu import aten, memory, order, streams
from grader.simgpu.streams import edges, state
from grader.simgpu.streams.state import StreamState

_KEY = "grader.simgpu.stream"  # in a node's metadata


def note(result: Any) -> None:
    """The nodes of `result`'s tensors were made by work on the current stream."""
    with PlainTensors():
        for t in aten.tensors_of(result):
            node = t.grad_fn
            if node is not None:
                node.metadata.setdefault(_KEY, state.device().current()[0])


# Nodes that may hand gradients on without running any operation, so that nobody sees them run.
_SILENT = {"AddBackward0", "SubBackward0", "CloneBackward0", "AliasBackward0", "ToCopyBackward0"}

_FAR = 64  # nodes: far enough, for the ones in between pass on what they waited for


class Backward:
    """One run of the engine in this thread, which the stream that is current now called.

    `roots` are the tensors that it starts from, and `gradients` what it starts with.
    """

    def __init__(self, roots: Any, gradients: Any) -> None:
        self._since = order.now()
        for root, gradient in zip(roots, gradients, strict=False):
            node = root.grad_fn if isinstance(root, torch.Tensor) else root.node
            noted = None if node is None else node.metadata.get(_KEY)
            if noted is not None:
                _hand(gradient, state.device().by_id(noted))
        self._caller_id, self._caller = state.device().current()
        self._start = edges.record(self._caller, free=True)
        self._node: Any = None
        self._here, self._stream = self._caller_id, self._caller
        self._used: set[StreamState] = {self._caller}
        self._heirs: dict[Any, int] = {}  # nodes that nobody noted: the stream of who hands them gradients
        self._givers: dict[Any, set[StreamState]] = {}  # who handed each node gradients so far

    def follow(self) -> None:
        """Make the stream of the node that runs now the current one, after those that it has to wait for."""
        node = _current_autograd_node()
        if node is None or node is self._node:
            return
        if self._node is not None:
            self._leave()
        self._node = node
        self._here = self._stream_of(node)
        state.device().set_current(self._here)
        self._stream = stream = streams.current()
        if stream not in self._used:
            self._used.add(stream)
            edges.wait(stream, self._start, free=True)
        # Where gradients of several nodes meet, the engine adds them up as part of the last one.
        givers = {g for receiver in (node, *_receivers(node)) for g in self._givers.get(receiver, ())}
        for giver in givers - {stream}:
            edges.wait(stream, edges.record(giver, free=True), free=True)

    def read(self, stream: StreamState, accesses: Iterable[Any]) -> None:
        """The node that runs now reads memory on `stream`. What this run made is gradients: other memory the
        learner has to record.
        """
        if stream is self._stream:
            for access in accesses:
                storage = access.storage()
                if storage is not None:
                    order.handed(storage, stream, self._since)

    def hand(self, gradients: Any) -> None:
        """The node that runs now hands code of the learner's its gradients."""
        _hand(gradients, self._stream)

    def _stream_of(self, node: Any) -> int:
        noted = node.metadata.get(_KEY)
        return noted if noted is not None else self._heirs.get(node, self._here)

    def _leave(self) -> None:
        """The gradients of the node that ran last are on their way."""
        self._givers.pop(self._node, None)
        for receiver in _receivers(self._node):
            self._heirs.setdefault(receiver, self._here)
            self._givers.setdefault(receiver, set()).add(self._stream)

    def end(self) -> None:
        """The caller's stream goes on after everything that ran."""
        state.device().set_current(self._caller_id)
        for stream in self._used:
            if stream is not self._caller:
                edges.wait(self._caller, edges.record(stream, free=True), free=True)


def _hand(gradients: Any, stream: StreamState) -> None:
    with PlainTensors():
        for t in aten.tensors_of(gradients):
            if memory.is_resident(t):
                order.handed(t.untyped_storage(), stream)


def _receivers(node: Any) -> list[Any]:
    """The nodes that `node` hands gradients to, also through such as run nothing themselves."""
    found = [receiver for receiver, _ in node.next_functions if receiver is not None]
    for receiver in found:  # it grows meanwhile
        if len(found) > _FAR:
            break
        if receiver.name() in _SILENT:
            found += [r for r, _ in receiver.next_functions if r is not None]
    return found
