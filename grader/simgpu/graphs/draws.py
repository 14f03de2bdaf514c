"""Random numbers in CUDA graphs: each replay draws anew, from where the generator stands then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from grader.simgpu.again import Again

if TYPE_CHECKING:
    from grader.simgpu.rng import CudaGenerator


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """What an operation draws: from which generator, how far behind where it stands at a replay.

    An operation of Python may run several kernels that draw; `index` counts them.
    """

    generator: CudaGenerator
    offset: int
    index: int

    def seed(self, base: int) -> int:
        """The seed of the draw when the generator's offset is `base`."""
        return self.generator.seed_at(base + self.offset) ^ self.index


class Draws:
    """The generators that draw in a capture: the device's own, and those `registered` with the graph."""

    def __init__(self, registered: set[CudaGenerator]) -> None:
        self._registered = registered
        self._starts: dict[CudaGenerator, int] = {}
        self._now: tuple[CudaGenerator, int] | None = None
        self._index = 0
        self.totals: dict[CudaGenerator, int] = {}  # how far each replay moves each generator on

    def drawn(self, generator: CudaGenerator) -> None:
        """`generator` is about to be drawn from."""
        if generator not in self._registered and generator is not torch.cuda.default_generators[0]:
            raise RuntimeError(
                "Attempt to increase offset for a CUDA generator not in capture mode. (A generator of your "
                "own has to be registered with the graph: graph.register_generator_state(generator).)"
            )
        offset = generator.get_offset()
        start = self._starts.setdefault(generator, offset)
        self._now, self._index = (generator, offset - start), 0

    def of(self, rerun: Any) -> Draw | None:
        """The draw of work that was just captured, if it draws."""
        if self._now is None or not isinstance(rerun, Again) or not rerun.draws:
            return None
        draw = Draw(*self._now, self._index)
        self._index += 1
        return draw

    def close(self) -> None:
        """Nothing was drawn: the generators stand where they stood."""
        for generator, start in self._starts.items():
            self.totals[generator] = generator.get_offset() - start
            generator.set_offset(start)
