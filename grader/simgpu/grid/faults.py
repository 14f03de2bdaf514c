"""What a kernel did wrong, in the learner's terms: errors that end the launch, findings that it survives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from grader.simgpu import lost, order
from grader.simgpu.grid import abi
from grader.simgpu.grid.runtime import Result
from grader.simgpu.native import endings

_FAR = 64 << 20  # bytes outside all arguments from which on a real GPU, too, surely stops the kernel


class KernelFault(RuntimeError):
    """A kernel broke a rule, and its launch was ended. reason: "out_of_bounds", "assert"."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class KernelFinding(order.Finding):
    """Something wrong in a kernel whose launch raised nothing. kind: "race", "divergent_barrier", "warp",
    "misaligned", "out_of_bounds"."""

    @property
    def text(self) -> str:
        return self.what


class Sites(Protocol):
    """What a caller of the runtime knows about its kernel."""

    def line(self, site: int) -> str:
        """The learner's line of `site`, with its text: "your line 7: `y[i] = x[i]`"."""

    def element(self, address: int, size: int) -> str:
        """What lies at `address`: "x[1000]"."""

    def shared(self, site: int) -> str:
        """The shared memory that `site` touches: "tile (shared memory)", or just "shared memory"."""

    def near(self, address: int) -> tuple[str, int]:
        """How the memory nearest to `address` is bounded ("x has 1000 elements"), and how far it is."""


def conclude(name: str, result: Result, sites: Sites, line: order.Line | None) -> None:
    """Report the findings of a launch of the kernel `name`, and raise if it did not end well.

    line: the learner's line that launched it. An access far outside all memory raises nothing: the device is
    lost, as a real one is.
    """
    report = result.report
    seen = set()
    for finding in report.findings[: report.n_findings]:
        lines = frozenset((sites.line(finding.site_a), sites.line(finding.site_b) if finding.site_b else ""))
        if (finding.kind, finding.space, lines) in seen:
            continue  # a read and a write on one line give up to three findings
        seen.add((finding.kind, finding.space, lines))
        made = _finding(name, finding, sites, line)
        if made is not None:
            order.report(made)
    outcome = report.outcome
    if outcome == abi.OK:
        return
    if outcome in (abi.OUT_OF_BOUNDS, abi.MISALIGNED):
        _address_fault(name, report, sites, line)
    elif outcome == abi.NO_MEMORY:
        raise MemoryError(f"the simulated GPU has no room to run the kernel {name!r}")
    elif outcome == abi.ASSERTED:
        lost.poison("device-side assert triggered", f"An assertion in the kernel {name!r} failed.")
    else:
        place = f"{sites.line(report.site)}\n" if outcome == abi.INTERRUPTED and report.site else ""
        endings.explain(outcome, name, f"{place}{where(report.where)}")


def where(thread: abi.Thread) -> str:
    """ "block (3,0,0), thread (4,0,0)"."""
    return f"block {_triple(thread.block)}, thread {_triple(thread.thread)}"


def _triple(numbers) -> str:
    return "({},{},{})".format(*numbers)


def _address_fault(name: str, report: abi.Report, sites: Sites, line: order.Line | None) -> None:
    does = "writes" if report.write else "reads"
    place, element = sites.line(report.site), sites.element(report.address, report.size)
    if report.outcome == abi.MISALIGNED:
        _ruin(
            name, line, "misaligned", "misaligned address",
            f"{place}\n{where(report.where)} {does} {report.size} bytes at once at {element}, "
            f"whose address is no multiple of {report.size}.",
            "A pointer to a wider type needs an address that is. Which element is the first that has one?",
        )  # fmt: skip
        return
    bounds, distance = sites.near(report.address)
    fact = f"{place}\n{where(report.where)} {does} {element}, but {bounds}."
    if distance >= _FAR:
        missing = "So far away there is no memory at all. What became of the index?"
        _ruin(name, line, "out_of_bounds", "an illegal memory access was encountered", fact, missing)
        return
    raise KernelFault(
        f"UNSAFE (out_of_bounds)   {fact}\n"
        f"A real GPU {does} there without a word, or stops with an illegal memory access, as luck has it. "
        "Which threads have an element, and what must the others do?",
        "out_of_bounds",
    )


def _ruin(name: str, line: order.Line | None, kind: str, error: str, fact: str, advice: str) -> None:
    """A real GPU stops, too, and with it all that comes later."""
    text = f"UNSAFE ({kind})   {fact}\n{advice}"
    order.report(KernelFinding(kind, "", None, line, name, name, advice, text))
    lost.poison(error, f"{fact}\n{advice}")


def _finding(name: str, finding: abi.Finding, sites: Sites, line: order.Line | None) -> KernelFinding | None:
    a, b = sites.line(finding.site_a), sites.line(finding.site_b) if finding.site_b else ""
    if finding.kind == abi.BARRIER_LINES and a == b:
        return None  # one barrier, which the compiler wrote down twice
    describe: Callable = {
        abi.RACE: _race, abi.BARRIER_LEFT: _left, abi.BARRIER_LINES: _two_barriers, abi.WARP_DIVERGED: _warp
    }[finding.kind]  # fmt: skip
    kind, memory, said, missing = describe(finding, sites, a, b)
    text = f"{said}\n{missing}"
    return KernelFinding(kind, memory, None, line, name, name, missing, text)


def _race(f: abi.Finding, sites: Sites, a: str, b: str) -> tuple[str, str, str, str]:
    memory = sites.shared(f.site_b) if f.space == abi.SHARED else sites.element(f.address, f.size)
    first, second = ("writes" if w else "reads" for w in (f.write_a, f.write_b))
    same_block = list(f.a.block) == list(f.b.block)
    lines = f"{b}\nthread {_triple(f.b.thread)} {second} {memory}"
    if a != b:
        lines += f"; thread {_triple(f.a.thread)} {first} it on {a}"
    else:
        lines += f", and thread {_triple(f.a.thread)} {first} it on the same line"
    if same_block:
        lines += f" (block {_triple(f.b.block)}). Nothing orders the two."
    else:
        lines += f" (blocks {_triple(f.b.block)} and {_triple(f.a.block)}). Nothing orders the two."
    if f.atomic and same_block:
        missing = (
            "One of the two is atomic, and the other is not: both must be, or a barrier must stand "
            "between them."
        )
    elif f.atomic:
        missing = (
            "One of the two is atomic, and the other is not. No barrier joins blocks: read it in the next "
            "launch, or make both atomic."
        )
    elif same_block and a == b and (f.space != abi.SHARED or (f.write_a and f.write_b)):
        missing = (
            "Many threads run this line, in any order, and meet at one element. Whose element is it, or "
            "should the update be atomic?"
        )
    elif same_block:
        missing = (
            "Threads of a block run in any order between two barriers. Where must they all have arrived?"
        )
    else:
        missing = (
            "Blocks run in any order, and no barrier joins them. Whose element is it, or should the "
            "update be atomic?"
        )
    return "race", memory, f"UNSAFE (race)   {lines}", missing


def _left(f: abi.Finding, sites: Sites, a: str, b: str) -> tuple[str, str, str, str]:
    said = (
        f"UNSAFE (divergent_barrier)   {a}\nthread {_triple(f.a.thread)} of block {_triple(f.a.block)} "
        f"waits there, "
        f"but thread {_triple(f.b.thread)} ended without it."
    )
    return (
        "divergent_barrier",
        "",
        said,
        "Every thread of a block must reach the same barrier. Which branch or return leaves it out?",
    )


def _two_barriers(f: abi.Finding, sites: Sites, a: str, b: str) -> tuple[str, str, str, str]:
    said = (
        f"UNSAFE (divergent_barrier)   {a}\nthread {_triple(f.a.thread)} of block {_triple(f.a.block)} "
        f"waits there, "
        f"but thread {_triple(f.b.thread)} waits on {b}."
    )
    return (
        "divergent_barrier",
        "",
        said,
        "Every thread of a block must reach the same barrier. Which condition parts them?",
    )


def _warp(f: abi.Finding, sites: Sites, a: str, b: str) -> tuple[str, str, str, str]:
    if f.size:  # the block ends within this warp
        said = (
            f"UNSAFE (warp)   {a}\nlane {f.a.thread[0] % 32} of block {_triple(f.a.block)} names lanes in "
            f"its mask that do not exist: the block ends there, and this warp has {f.size} "
            f"{'lane' if f.size == 1 else 'lanes'}."
        )
        missing = "What a lane gets from one that is not there is undefined. Which lanes does this warp have?"
        return "warp", "", said, missing
    elsewhere = f"is on {b}" if b else "has ended"
    said = (
        f"UNSAFE (warp)   {a}\nlane {f.a.thread[0] % 32} of block {_triple(f.a.block)} names lanes in "
        f"its mask that do not "
        f"come: thread {_triple(f.b.thread)} {elsewhere}."
    )
    return "warp", "", said, "Each lane that the mask names must execute the same call. Who takes part here?"
