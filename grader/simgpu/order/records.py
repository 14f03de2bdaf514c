"""What is remembered of work: the pieces themselves, and what each wrote and read in one block of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from grader.simgpu.order import regions
from grader.simgpu.order.clocks import Agent

POISON = 0xFF  # each byte of memory that was never written: NaN for floating-point numbers, -1 for integers


class Op:
    """One piece of work, as much of it as is needed to say what it saw and to do it again."""

    __slots__ = ("number", "work", "agent", "epoch", "others", "extra", "writes", "line")

    def __init__(self, number: int, work: Any, agent: Agent) -> None:
        self.number, self.work, self.agent, self.epoch = number, work, agent, agent.epoch
        self.others = agent.others()
        self.extra: list[Write] = []  # writes that it may have been too late for
        self.writes: list[tuple[Any, Write]] = []
        self.line = work.line

    def sees(self, write: Write) -> bool:
        """Were the bytes of `write` in memory when this ran?"""
        if write.agent is self.agent:
            return write.first < self.epoch
        return self.others.get(write.agent.number, 0) >= write.epoch or write in self.extra


class Write:
    """Bytes [low, high) written; `before`: what was there, None for memory that was never written.

    Several writes in a row that nobody can tell apart are one; `ops` did them, or None if that is not known.
    """

    __slots__ = (
        *("agent", "first", "epoch", "low", "high", "access", "before"),
        *("line", "ops", "dense", "told", "overtakes", "told_of", "number"),
    )

    def __init__(self, op: Op, access: Any, before: bytes | None) -> None:
        self.agent, self.first, self.epoch = op.agent, op.epoch, op.epoch
        self.low, self.high, self.access = access.low, access.high, access
        self.before, self.line = before, op.line
        self.ops: list[Op] | None = [op]
        self.number = op.number  # the latest of them
        self.dense = regions.is_dense(access)
        self.told = False  # has a mistake of the host with it been reported?
        self.overtakes = False  # has something been done again because this may come before it?
        self.told_of: tuple[Agent, ...] = ()  # whose mistakes with it have been reported

    @classmethod
    def birth(cls, agent: Agent, epoch: int, access: Any, line: Any) -> Write:
        """The writes, known only as one, of memory that was made while nobody followed the work."""
        write = cls.__new__(cls)
        write.agent, write.first, write.epoch, write.line = agent, epoch, epoch, line
        write.low, write.high, write.access = access.low, access.high, access
        write.before, write.ops, write.dense, write.number = None, None, True, -1
        write.told, write.told_of, write.overtakes = False, (), False
        return write

    def let_go(self) -> None:
        """Nobody asks any more what was there before: break the circle with the work that did it."""
        self.before, self.ops = None, None

    def was(self, dtype: torch.dtype | None = None) -> bytes:
        """The bytes before the write; what was never written is poison, to a reader of `dtype`."""
        if self.before is not None:
            return self.before
        return bytes([1 if dtype is torch.bool else POISON]) * (self.high - self.low)

    def lay(self, image: bytearray, low: int, data: bytes) -> None:
        """Put the bytes `data` of this write's range into `image`, which starts at the block's byte `low`."""
        a, b = max(low, self.low), min(low + len(image), self.high)
        if a >= b:
            return
        if self.dense:
            image[a - low : b - low] = data[a - self.low : b - self.low]
            return
        touched = regions.mask(self.access)[a - self.low : b - self.low]
        there = np.frombuffer(image, np.uint8)[a - low : b - low]
        there[touched] = np.frombuffer(data, np.uint8)[a - self.low : b - self.low][touched]


class Read:
    """Bytes read; `copy` holds them where the host can change them behind our back."""

    __slots__ = (
        *("agent", "epoch", "low", "high", "access", "line", "op"),
        *("generation", "copy", "told", "told_of"),
    )

    def __init__(self, op: Op, access: Any, generation: int, copy: bytes | None = None) -> None:
        self.agent, self.epoch, self.op, self.line = op.agent, op.epoch, op, op.line
        self.low, self.high, self.access = access.low, access.high, access
        self.generation, self.copy = generation, copy
        self.told, self.told_of = False, ()
