"""Launches that are regular are logged as runs: nothing is found, and nothing missed, because of that.

With abi.FIBERS nothing is logged, so the two modes check each other; a brute search over bytes checks both.
An access is told by a call, or noted in line as generated code does.
"""

from __future__ import annotations

import ctypes
import random
from collections import defaultdict
from dataclasses import astuple, dataclass, replace

import numpy as np
import pytest

from grader.simgpu.grid import abi, runtime

BYTES = 1 << 14
EVERY = 1 << 40


@dataclass(frozen=True)
class Step:
    """Each thread (x, y), of those from `first` up to `last` except each `but`-th, touches `size` bytes at
    `at` + x * by_x + y * by_y."""

    site: int
    write: bool
    size: int
    at: int
    by_x: int
    by_y: int = 0
    first: int = 0
    last: int = EVERY
    but: int = EVERY


def read(site, at, by_x=4, size=4, **more):
    return Step(site, False, size, at, by_x, **more)


def write(site, at, by_x=4, size=4, **more):
    return Step(site, True, size, at, by_x, **more)


class Program:
    """Steps over one piece of memory. `views`: the bytes [low, high) of it that are arguments."""

    def __init__(self, steps, grid=(4, 1), block=(32, 1), views=((0, BYTES),)):
        self.steps, self.grid, self.block, self.views = steps, grid, block, views
        room = np.zeros(BYTES + 256, np.uint8)
        self.memory = room[-room.ctypes.data % 256 :][:BYTES]

    def run(self, kernel, mode):
        """(findings, touched ranges)."""
        start = self.memory.ctypes.data
        words = []
        for step in self.steps:
            words += astuple(replace(step, at=start + step.at))
        table = (ctypes.c_int64 * (len(words) + 1))(*words, 0)
        pointer = ctypes.c_void_p(ctypes.addressof(table))
        kernel = ctypes.cast(kernel, ctypes.c_void_p).value
        memory = [runtime.Memory(start + low, start + high) for low, high in self.views]
        result = runtime.run(
            kernel, ctypes.addressof(pointer), (*self.grid, 1), (*self.block, 1), memory, mode=mode
        )
        report = result.report
        assert report.outcome == abi.OK
        ranges = [(m.read_low, m.read_high, m.write_low, m.write_high) for m in result.memory]
        if len(self.views) > 1 and self.views[1][0] < self.views[0][1]:  # whose is what both have?
            ranges = [f(column) for f, column in zip((min, max) * 2, zip(*ranges, strict=True), strict=True)]
        return [bytes(f) for f in report.findings[: report.n_findings]], ranges

    def races(self):
        """Is there a byte that two threads touch, one of them writing?"""
        touched = defaultdict(set)
        (gx, gy), (bx, by) = self.grid, self.block
        number = 0
        for block_y in range(gy):
            for block_x in range(gx):
                for y in range(block_y * by, block_y * by + by):
                    for x in range(block_x * bx, block_x * bx + bx):
                        for s in self.steps:
                            if s.first <= number < s.last and number % s.but != s.but - 1:
                                at = s.at + x * s.by_x + y * s.by_y
                                if any(low <= at and at + s.size <= high for low, high in self.views):
                                    for byte in range(at, at + s.size):
                                        touched[byte].add((number, s.write))
                        number += 1
        return any(len({t for t, _ in seen}) > 1 and any(w for _, w in seen) for seen in touched.values())


@pytest.fixture
def agreed(kernels):
    """agreed(program): were races found? All ways to know must agree, and the runtime's on every detail."""

    def run(program):
        checked = program.run(kernels.steps, abi.FIBERS)
        assert program.run(kernels.steps, abi.LOOP) == checked
        assert program.run(kernels.steps_in_line, abi.LOOP) == checked
        assert bool(checked[0]) == program.races()
        return bool(checked[0])

    return run


X, Y = 0, 8192


@pytest.mark.parametrize(
    "steps",
    [
        [read(1, X), write(2, Y)],
        [read(1, X), write(2, X)],  # in place
        [read(1, X), read(2, X + 4), write(3, Y)],  # neighbours
        [read(1, X + 4, first=1), write(2, Y)],  # the first thread has no neighbour
        [read(1, X, by_x=0), write(2, Y)],  # one for all
        [read(1, X + 2048, by_x=-4), write(2, Y)],  # reversed
        [write(1, X, by_x=8), write(2, X + 4, by_x=8)],  # two fields of a record
        [write(1, X, by_x=8, size=8), read(2, X, by_x=8), read(3, X + 4, by_x=8)],  # a pair, read in parts
        [write(1, X, last=50), write(1, X + 4, first=50), read(2, X, last=50)],  # broken in the middle
        [write(1, X, but=7), read(2, X, but=5)],
        [write(1, X, last=50), write(1, X, size=2, first=50)],
        [write(1, X, by_x=64)],
        [write(1, X, by_x=1, size=1)],
        [read(1, X, but=2), write(2, X, but=3), write(3, X)],
    ],
)
def test_quiet(agreed, steps):
    assert not agreed(Program(steps))


@pytest.mark.parametrize(
    "steps",
    [
        [read(1, X + 4), write(2, X)],  # the right neighbour is read, in place
        [write(1, X + 4), read(2, X)],
        [read(1, X + 508, by_x=-4), write(2, X)],  # reversed, in place
        [write(1, X, by_x=0)],
        [read(1, X, by_x=0), write(2, X)],
        [write(1, X, by_x=2)],  # elements of 4 bytes, 2 bytes apart
        [write(1, X, last=50), write(1, X - 4, first=50)],  # the border element twice
        [write(1, X), read(2, X - 4, first=127)],  # the last thread alone
        [write(1, X), read(2, X + 508, first=0, last=1)],  # the first thread alone
        [write(1, X, by_x=8, size=8), read(2, X + 4)],  # elements of other sizes
        [write(1, X, by_x=8), write(2, X + 8, by_x=8)],
        [write(1, X), write(2, X + 1, by_x=4, size=1, first=64, last=65), write(3, X + 252, first=3, last=4)],
        [write(1, X), write(2, X), read(3, X - 4, first=1)],  # the last line that wrote is named
        [read(1, X), read(2, X + 4), write(3, X, first=9, but=4)],
        [read(1, X), read(2, X + 8), read(3, X + 8, first=5), write(4, X + 8, first=64)],
        [write(1, X, first=50), write(2, X), read(3, X - 4, first=1)],  # a line that some leave out
        # from a thread on the other way round: another line is the last that wrote
        [write(1, X, last=50), write(2, X), write(1, X, first=51), read(3, X - 4, first=1)],
    ],
)
def test_found(agreed, steps):
    assert agreed(Program(steps))


@pytest.mark.parametrize(("shift", "races"), [(0, False), (4, True), (-16, True)])
def test_two_arguments_over_the_same_memory(agreed, shift, races):
    """x[i] is read through one, the other's i-th is written."""
    views = ((64, 1024), (64 + shift, 1024 + shift))
    assert agreed(Program([read(1, 64), write(2, 64 + shift)], views=views)) == races


@pytest.mark.parametrize("block", [(16, 16), (8, 4), (3, 5)])
@pytest.mark.parametrize(
    ("steps", "races"),
    [
        ([read(1, X, by_y=192), write(2, Y, by_y=192)], False),
        ([read(1, X, by_y=192), write(2, X, by_y=192)], False),
        ([read(1, X, by_x=128, by_y=4), write(2, Y, by_y=192)], False),  # transposed
        ([read(1, X, by_x=192, by_y=4), write(2, X, by_y=192)], True),
        ([write(1, X, by_y=4)], True),
        ([write(1, X, by_y=192), read(2, X + 192, by_y=192)], True),  # the row below
        ([write(1, X, by_y=192, but=11)], False),
    ],
)
def test_in_two_dimensions(agreed, block, steps, races):
    assert agreed(Program(steps, grid=(2, 2), block=block)) == races


def test_a_run_from_one_argument_into_the_next(agreed):
    views = ((0, 256), (256, 1024))
    assert not agreed(Program([write(1, 0)], views=views))
    assert agreed(Program([write(1, 0), read(2, 4)], views=views))


def test_what_is_no_argument_is_left_alone(agreed):
    assert not agreed(Program([write(1, 4096, by_x=0), read(2, 0)], views=((0, 1024),)))


def _steps(chance):
    """Mostly what kernels do: lines, in place or not; with a shift, a gap or another size now and then."""
    for site in range(1, chance.randint(2, 6)):
        size = chance.choice([4, 4, 4, 8, 2, 1])
        by_x = chance.choice([size, size, size, size, 2 * size, -size, 0, 4])
        step = Step(
            site=chance.choice([site, site, 1]),
            write=chance.random() < 0.4,
            size=size,
            at=2048 * chance.randint(1, 3) + size * chance.choice([0, 0, 0, 0, 1, -1, 8]),
            by_x=by_x,
            by_y=chance.choice([0, 24 * by_x, 24 * by_x, 4]),
        )
        if chance.random() < 0.4:
            border = chance.randint(0, 100)
            step = replace(step, first=border) if chance.random() < 0.5 else replace(step, last=border)
        if chance.random() < 0.15:
            step = replace(step, but=chance.randint(2, 40))
        yield step


@pytest.mark.parametrize("seed", range(400))
def test_any_program(agreed, seed):
    chance = random.Random(seed)
    views = chance.choice([((0, BYTES),), ((0, 4096), (4096, BYTES)), ((2048, 5000), (4000, BYTES))])
    grid, block = chance.choice([((4, 1), (32, 1)), ((3, 1), (33, 1)), ((2, 2), (12, 4)), ((1, 3), (5, 7))])
    agreed(Program(list(_steps(chance)), grid, block, views))


def test_many_short_runs(agreed):
    """More of them than are worth keeping."""
    steps = [read(1, X, but=2), write(2, Y, but=3)]
    assert not agreed(Program(steps, grid=(16, 1), block=(64, 1)))
    assert agreed(Program([*steps, read(3, Y + 4, first=1000)], grid=(16, 1), block=(64, 1)))


def test_a_place_that_changes_its_turn(kernels):
    """From thread 50 on, line 1 comes after line 2, where it came before: that they race is found. Which of
    a thread's two writes is named is open."""
    steps = [write(1, X, last=50), write(2, X), write(1, X, first=50), read(3, X - 4, first=1)]
    for kernel in (kernels.steps, kernels.steps_in_line):
        findings, _ = Program(steps).run(kernel, abi.LOOP)
        pairs = {(f.site_a, f.site_b) for f in map(abi.Finding.from_buffer_copy, findings)}
        assert pairs and pairs <= {(1, 3), (2, 3)}


def test_many_runs_over_the_same_bytes(agreed):
    """More of them than are compared."""
    steps = [read(1, X, by_x=0, but=2), *[read(site, Y) for site in range(2, 8)]]
    assert not agreed(Program(steps, grid=(8, 1)))
    assert agreed(Program([*steps, write(8, X, by_x=0, first=200, last=201)], grid=(8, 1)))
