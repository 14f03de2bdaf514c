"""A jiterator launch as a piece of work on the current stream, while work is tracked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from grader.simgpu import clock, memory, order, streams, trace, work
from grader.simgpu.jiterator.plan import Plan

Launch = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor], bool], None]  # inputs, outputs, recorded


def run(plan: Plan, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], launch: Launch) -> None:
    """Launch the kernel of `plan` through the door; its `outputs` are new."""
    stream = streams.current()
    for t in outputs:
        order.allocated(t, stream)
        memory.note(t)
    reads, writes = _accesses(inputs), _accesses(outputs)
    cost = clock.costs.kernel(
        "jiterator",
        [(a.key, a.nbytes) for a in reads],
        [(a.key, a.nbytes) for a in writes],
        outputs[0].numel(),
        clock.multiply_adds(plan.program.code),
    )

    def again(storages: work.Storages) -> None:
        operands, results = ([a.tensor(storages.get(a.key)) for a in all_of] for all_of in (reads, writes))
        launch(operands, results, False)

    piece = work.Work(
        plan.program.name, "jiterator", stream, reads, writes, cost, line=order.here(), rerun=again
    )
    with work.on_device(piece):
        launch(inputs, outputs, trace.active())


def _accesses(tensors: Sequence[torch.Tensor]) -> tuple[work.Access, ...]:
    return tuple(work.Access.of(t) for t in tensors)
