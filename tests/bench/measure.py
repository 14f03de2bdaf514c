"""What the benchmarks share: timing in turn, and the table with targets."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


class Table:
    """Prints a line a figure, with its target; knows whether one was missed."""

    def __init__(self, title: str) -> None:
        self.all_ok = True
        print(f"\n{title:62s} {'measured':>16s}  {'target':>10s}")

    def row(self, what: str, value: float, unit: str, target: float, lower: bool = False) -> None:
        """A figure and the most that it may be; `lower`: the least."""
        ok = value >= target if lower else value <= target
        self.all_ok &= ok
        sign, miss = (">=", "short") if lower else ("<=", "over")
        print(f"{what:62s} {value:11.2f} {unit:4s}  {sign}{target:8g}  {'ok' if ok else miss}", flush=True)


def alternate(*calls: Callable[[], object], rounds: int = 15) -> list[list[float]]:
    """Seconds of each call, `rounds` times, taken in turn: a busy machine slows all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for call, seconds in zip(calls, times, strict=True):
            seconds.append(seconds_of(call))
    return times


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def many(call: Callable[[], object], times: int) -> Callable[[], None]:
    """A function that does `call` so many times."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def median_difference(longer: list[float], shorter: list[float]) -> float:
    return statistics.median(a - b for a, b in zip(longer, shorter, strict=True))
