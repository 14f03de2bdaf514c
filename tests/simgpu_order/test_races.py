"""Each program with a mistake is found, every time, with the value that its stream is guaranteed to see."""

import pytest

from grader.simgpu import order
from tests.simgpu_order.programs import PROGRAMS

TABLE = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


@TABLE
def test_a_mistake_is_found_with_the_guaranteed_value(program):
    for _ in range(3):
        with order.collect() as found:
            got = program.run(False)
        assert got == program.wrong
        assert found and {f.kind for f in found} <= {program.kind}, [f.text for f in found]


@TABLE
def test_the_mended_twin_is_quiet_and_right(program):
    for _ in range(3):
        with order.collect() as found:
            got = program.run(True)
        assert not found, [f.text for f in found]
        assert got == program.right
