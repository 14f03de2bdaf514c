"""How kernels that are on the device at once share it: room for blocks first, then memory bandwidth."""

from __future__ import annotations

from grader.simgpu.clock.entries import Item

_ENOUGH = 1e-9  # room below which a kernel counts as having none


def share(kernels: list[Item]) -> None:
    """Set `grant` (the share of the device's room) and `rate` (speed, 1 alone) of each.

    Blocks are placed in order of priority, then of arrival, while there is room. Running blocks are never
    taken off: a kernel of one round keeps what it has. Of memory bandwidth everybody gets less in proportion.
    """
    if len(kernels) == 1:
        item = kernels[0]
        item.grant, item.rate = item.cost.room, 1.0
        return
    free = 1.0
    for item in kernels:
        if item.cost.waves > 1:
            item.grant = 0.0  # its next round is placed anew
        free -= item.grant
    for item in sorted(kernels, key=lambda i: (i.lane.priority, i.order)):
        more = min(item.cost.room - item.grant, max(free, 0.0))
        item.grant += more
        free -= more
    drawn = 0.0
    for item in kernels:
        item.rate = _placed(item)
        drawn += item.cost.bandwidth * item.rate
    if drawn > 1.0:
        for item in kernels:
            memory = item.cost.bandwidth
            item.rate /= 1.0 - memory + memory * drawn


def _placed(item: Item) -> float:
    """The share of the kernel's own blocks that have room."""
    if item.cost.room <= _ENOUGH:
        return 1.0
    return item.grant / item.cost.room if item.grant > _ENOUGH else 0.0
