"""What a random program must compute, worked out apart from the simulated GPU.

Of two operations that touch the same element, and that nothing orders, the one that was queued later comes
first: it does not see what the earlier one wrote, the earlier one sees what it wrote, and the earlier one's
write stays. Programs for which these choices go round in a circle have no such account.
"""

import random
from dataclasses import dataclass

ELEMENTS = 8
STREAMS = 3


@dataclass(frozen=True)
class Wait:
    """Stream `waiting` waits for stream `awaited`."""

    waiting: int
    awaited: int


@dataclass(frozen=True)
class Op:
    """On `stream`: target = factor * source + (target if `in_place` else source), element by element."""

    stream: int
    target: tuple[int, ...]
    source: tuple[int, ...]
    in_place: bool
    factor: int

    @property
    def reads(self) -> set[int]:
        return {*self.source, *self.target} if self.in_place else {*self.source}


def draw(seed: int, count: int, waits: float) -> tuple[list[int], list[Wait | Op]]:
    """The contents of one tensor, and a program of `count` operations on slices of it."""
    r = random.Random(seed)
    base = [r.randrange(1000) for _ in range(ELEMENTS)]
    program: list[Wait | Op] = []
    left = count
    while left:
        if r.random() < waits:
            program.append(Wait(*r.sample(range(STREAMS), 2)))
            continue
        n = r.randrange(1, 4)
        target, source = _slice(r, n), _slice(r, n)
        if target == source or not set(target) & set(source):
            program.append(Op(r.randrange(STREAMS), target, source, r.random() < 0.5, r.randrange(2, 9)))
            left -= 1
    return base, program


def _slice(r: random.Random, n: int) -> tuple[int, ...]:
    step = r.choice([1, 1, 2])
    start = r.randrange(ELEMENTS - (n - 1) * step)
    return tuple(range(start, start + (n - 1) * step + 1, step))


class Account:
    """Which pairs of a program's operations race, and what the program leaves (None: no account)."""

    def __init__(self, base: list[int], program: list[Wait | Op]) -> None:
        self.base = base
        self.ops = [p for p in program if isinstance(p, Op)]
        self.past = _past(program)
        self.racy = any(self._races(a, b) for b in range(len(self.ops)) for a in range(b))
        self.order = self._order()
        self.left = None if self.order is None else self._run()

    def _races(self, a: int, b: int) -> bool:
        first, second = self.ops[a], self.ops[b]
        touch = set(first.target) & ({*second.target} | second.reads) or set(second.target) & first.reads
        return bool(touch) and a not in self.past[b]

    def _order(self) -> list[int] | None:
        """An order in which the operations may run, late ones late; None if there is none."""
        before = [set(p) for p in self.past]
        for b in range(len(self.ops)):
            for a in range(b):
                if self._races(a, b):
                    before[a].add(b)
        done: list[int] = []
        while len(done) < len(self.ops):
            ready = [n for n in range(len(self.ops)) if n not in done and before[n] <= set(done)]
            if not ready:
                return None
            done.append(ready[0])
        return done

    def _run(self) -> list[int]:
        memory = list(self.base)
        for n in self.order:
            op = self.ops[n]
            old = list(memory)
            for t, s in zip(op.target, op.source, strict=True):
                value = op.factor * old[s] + (old[t] if op.in_place else old[s])
                memory[t] = (value + 2**63) % 2**64 - 2**63
        return memory


def _past(program: list[Wait | Op]) -> list[set[int]]:
    """For each operation, those that are ordered before it."""
    clocks: list[set[int]] = [set() for _ in range(STREAMS)]
    past: list[set[int]] = []
    for p in program:
        if isinstance(p, Wait):
            clocks[p.waiting] |= clocks[p.awaited]
        else:
            past.append(set(clocks[p.stream]))
            clocks[p.stream].add(len(past) - 1)
    return past
