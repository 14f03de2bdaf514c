"""Programs with a mistake of synchronisation, again and again: `python -m tests.bench.bench_races`.

Each run of each one must give its wrong value and its finding, and each run of its mended twin neither.
"""

from __future__ import annotations

import sys

from grader import simgpu
from grader.simgpu import order
from tests.simgpu_order.programs import PROGRAMS, Program

from .measure import Table

RUNS = 100


def missed(program: Program) -> bool:
    """Did the racy program look right, or go unreported, this time?"""
    with order.collect() as found:
        got = program.run(False)
    return got != program.wrong or {finding.kind for finding in found} != {program.kind}


def accused(program: Program) -> bool:
    """Did its mended twin give another value than the right one, or a finding, this time?"""
    with order.collect() as found:
        got = program.run(True)
    return got != program.right or bool(found)


def main() -> int:
    simgpu.activate("sim")
    table = Table(f"{len(PROGRAMS)} racy programs and their mended twins, {RUNS} runs each")
    table.row("racy runs that were not found", sum(missed(p) for _ in range(RUNS) for p in PROGRAMS), "", 0)
    table.row("mended runs that were accused", sum(accused(p) for _ in range(RUNS) for p in PROGRAMS), "", 0)
    return 0 if table.all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
