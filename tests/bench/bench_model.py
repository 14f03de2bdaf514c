"""The model's virtual times beside measurements on an H200: `python -m tests.bench.bench_model`.

Each must lie within a factor of 1.5 of what was measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from grader import simgpu

from . import graph_rows, model_rows, program_rows
from .model_rows import Row

FACTOR = 1.5


def main() -> int:
    simgpu.activate("sim")
    missed = print_table("The model against an H200", model_rows.all_rows())
    missed |= print_table("Programs of PyTorch against an H200", program_rows.all_rows())
    return missed | print_table("CUDA graphs of PyTorch against an H200", graph_rows.all_rows())


def print_table(title: str, rows: Iterable[Row]) -> int:
    """Print a line a row; return 1 if one is further off than the factor, else 0."""
    print(f"\n{title:62s} {'measured':>10s} {'modelled':>10s}       {'ratio':>5s}")
    failed = count = 0
    for what, unit, measured, modelled in rows:
        ratio = modelled / measured
        good = 1 / FACTOR <= ratio <= FACTOR
        failed += not good
        count += 1
        print(
            f"{what:62s} {measured:10.5g} {modelled:10.5g} {unit:5s} {ratio:5.2f}  {'ok' if good else 'OFF'}"
        )
    print(f"{count} rows, {failed} further off than a factor of {FACTOR}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
