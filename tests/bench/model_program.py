"""A stream of a modelled device, and what programs on it share: no PyTorch takes part."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from grader.simgpu.clock import Cost, Device, Lane, costs, products
from grader.simgpu.clock.profiles import H200

MIB = 1 << 20
SPIN = 40e-6  # seconds: "a short spin" ahead of what is measured

# gelu_tanh(x) + y, one operation at a time: 0.5 * x * (1 + tanh(c * (x + d * x * x * x))) + y.
# Operands that each of the ten reads; each writes one result.
_GELU_STEPS = (1, 1, 2, 2, 2, 1, 1, 1, 2, 2)


class Program:
    """One stream of a new device, and what the rows share."""

    def __init__(self) -> None:
        self.device = Device(H200)
        self.main = self.device.lane("default")
        self.side = self.device.lane("side")
        self._names = 0

    def memory(self, nbytes: int, count: int = 1) -> list[tuple[str, int]]:
        """Blocks of memory that nothing has touched."""
        self._names += count
        return [(f"block {self._names - i}", nbytes) for i in range(count)]

    def op(self, name: str, reads: list, writes: list) -> Cost:
        return costs.torch_op(name, reads, writes, device=self.device)

    def jiterator(self, reads: list, writes: list, n: int, operations: float = 0) -> Cost:
        return costs.kernel("jiterator", reads, writes, n, operations, device=self.device)

    def product(self, m: int, numbers: str) -> Cost:
        return costs.product(products.matrix(m, m, m, numbers), device=self.device)

    def gelu_eager(self, x: tuple, y: tuple) -> list[Cost]:
        temporaries = self.memory(x[1], 3)
        return [self.op("mul", [x, y][:reads], [temporaries[i % 3]]) for i, reads in enumerate(_GELU_STEPS)]

    def elapsed(self, body: Callable[[], object], spin: float = SPIN) -> float:
        """Seconds between two events around body(), behind a spin kernel."""
        device = self.device
        if spin:
            device.queue(self.main, costs.sleep(round(spin * H200.clock), device=device), "spin", "sleep")
        start = device.mark(self.main)
        body()
        end = device.mark(self.main)
        device.host_waits()
        return device.elapsed(start, end) / 1e3

    def launch(self, *work: Cost, lane: Lane | None = None) -> None:
        for cost in work:
            self.device.queue(lane or self.main, cost, "kernel")

    def replay(self, *branches: list[Cost]) -> None:
        """Replay a captured graph: the first branch on the stream, the others beside it."""
        device = self.device
        device.spend(H200.host.graph, "graph replay")
        fork = device.mark(self.main, free=True)
        for i, branch in enumerate(branches):
            lane = self.main if i == 0 else device.lane(f"branch {i}")
            if i:
                device.wait(lane, fork, free=True)
            self.launch(*(dataclasses.replace(cost, host=0.0) for cost in branch), lane=lane)
            if i:
                device.wait(self.main, device.mark(lane, free=True), free=True)

    def flush(self) -> None:
        self.launch(self.op("fill_", [], self.memory(256 * MIB)))
