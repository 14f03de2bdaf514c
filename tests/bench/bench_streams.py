"""Many small operations on several streams, with hazards tracked: `python -m tests.bench.bench_streams`."""

from __future__ import annotations

import gc
import statistics
import sys

import psutil
import torch

from grader import simgpu

from .measure import Table, alternate, seconds_of

OPERATIONS, STREAMS, REPEATS = 1_000, 4, 100


class Program:
    """1,000 operations on 64 elements, handed round four streams; every fourth one passes an event on."""

    def __init__(self) -> None:
        self.streams = [torch.cuda.Stream() for _ in range(STREAMS)]
        self.values = [torch.zeros(64, device="cuda") for _ in range(STREAMS)]
        torch.cuda.synchronize()

    def tracked(self) -> None:
        for i in range(OPERATIONS):
            here = i % STREAMS
            with torch.cuda.stream(self.streams[here]):
                if i % 2:
                    self.values[here].add_(1)
                else:
                    self.values[here] * 2
            if i % 4 == 3:
                event = self.streams[here].record_event()
                self.streams[(here + 1) % STREAMS].wait_event(event)
        torch.cuda.synchronize()

    def on_the_host(self) -> None:
        values = [torch.zeros(64) for _ in range(STREAMS)]
        for i in range(OPERATIONS):
            if i % 2:
                values[i % STREAMS].add_(1)
            else:
                values[i % STREAMS] * 2


def main() -> int:
    simgpu.activate("sim")
    torch.set_num_threads(2)
    program = Program()
    table = Table(f"{OPERATIONS:,} operations on {STREAMS} streams with events")
    tracked, plain = alternate(program.tracked, program.on_the_host, rounds=7)
    table.row("an operation, hazards tracked", statistics.median(tracked) / OPERATIONS * 1e6, "us", 150)
    table.row(
        "the same over plain CPU tensors", statistics.median(tracked) / statistics.median(plain), "x", 100
    )
    process = psutil.Process()
    gc.collect()
    before = process.memory_info().rss
    for _ in range(REPEATS):
        seconds_of(program.tracked)
    gc.collect()
    grown = process.memory_info().rss - before
    table.row(f"memory kept after {REPEATS} repeats", grown / 1e6, "MB", 4)
    return 0 if table.all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
