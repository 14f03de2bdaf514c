"""What a launch of a numba kernel comes to for the learner: an error, findings, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.simgpu import lost, order
from grader.simgpu.grid import abi, faults, runtime
from grader.simgpu.numba.arguments import Array
from grader.simgpu.numba.state import state

_FAR = 64 << 20  # bytes outside an array from which on a real GPU, too, surely stops the kernel
_ILLEGAL = "an illegal memory access was encountered"


@dataclass
class KernelSites:
    """A launch's lines and arrays, for messages (see faults.Sites)."""

    arrays: Sequence[Array]

    def line(self, site: int) -> str:
        place = state.sites[site]
        return f"your {order.Line(place.filename, place.line)}" if place.line else "a line of numba's own"

    def element(self, address: int, size: int) -> str:
        for array in self.arrays:
            if array.low <= address < array.high:
                return array.element(address)
        return "memory of no argument"

    def shared(self, site: int) -> str:
        name = state.sites[site].name
        return f"{name} (shared memory)" if name else "shared memory"

    def near(self, address: int) -> tuple[str, int]:
        def distance(a: Array) -> int:
            return max(a.low - address, address - a.high, 0)

        nearest = min(self.arrays, key=distance, default=None)
        if nearest is None:
            return "no argument has memory there", _FAR
        return nearest.bounds(), distance(nearest)


def conclude(name: str, result: runtime.Result, arrays: Sequence[Array], mistyped: bool) -> None:
    """Report the findings of a launch of the kernel `name`, and raise if it did not end well.

    mistyped: arguments are of other types than the kernel was compiled for, and it saw their bytes as they
    came.
    """
    report = result.report
    if report.outcome == abi.OK and not report.n_findings and not any(a.host is not None for a in arrays):
        return
    sites, line = KernelSites(arrays), order.here()
    _leave_out_numbas_own(report)
    if report.outcome == abi.FAILED:
        _index_fault(name, report, sites, mistyped)
        report.outcome = abi.OK
    faults.conclude(name, result, sites, line)
    for array, used in zip(arrays, result.memory, strict=True):
        if array.host is not None and (used.read_low < used.read_high or used.write_low < used.write_high):
            _host_memory(name, array, line)


def _leave_out_numbas_own(report: abi.Report) -> None:
    """Kernels of numba's own (cuda.reduce...) are not the learner's to mend: findings in no line of theirs
    go.
    """
    every = [abi.Finding.from_buffer_copy(f) for f in report.findings[: report.n_findings]]
    kept = [f for f in every if state.sites[f.site_a].line or state.sites[f.site_b].line]
    report.n_findings = len(kept)
    for i, finding in enumerate(kept):
        report.findings[i] = finding


def _index_fault(name: str, report: abi.Report, sites: KernelSites, mistyped: bool) -> None:
    place = state.sites[report.site]
    array = next((a for a in sites.arrays if a.name == place.name), None)
    called = place.name or "the array"
    axis = f" along axis {report.axis}" if place.ndim > 1 else ""
    fact = (
        f"{sites.line(report.site)}\n{faults.where(report.where)} asks for index {report.index} of "
        f"{called}{axis}, but {called} has {report.length} elements{' there' if axis else ''}."
    )
    if mistyped:
        lost.poison(
            "misaligned address", f"{fact} (kernel {name!r}, given arguments of other types than it declares)"
        )
        return
    beyond = report.index - report.length if report.index >= 0 else -report.index - report.length
    if beyond * (array.itemsize if array else 1) >= _FAR:
        lost.poison(_ILLEGAL, f"{fact} (kernel {name!r})")
        return
    advice = (
        "A real GPU takes whatever lies there without a word, or stops with an illegal memory access, as "
        "luck has it. Which threads have an element, and what must the others do?"
    )
    raise faults.KernelFault(f"UNSAFE (out_of_bounds)   {fact}\n{advice}", "out_of_bounds")


def _host_memory(name: str, array: Array, line: order.Line | None) -> None:
    """A tensor in the host's memory, which a GPU cannot reach: it says so at the next synchronisation."""
    fact = (
        f"your {line}" if line else f"the launch of kernel {name!r}"
    ) + f"\n{array.name} is a CPU tensor, and kernel {name!r} uses its memory."
    meaning = (
        "numba hands the host's address to the GPU. On a real GPU the launch seems to work; the next "
        "synchronisation fails with an illegal memory access, and the device is lost until Python is "
        "restarted. "
        f"Where should {array.name} have been moved to the device?"
    )
    text = f"UNSAFE (host_memory)   {fact}\n{meaning}"
    order.report(faults.KernelFinding("host_memory", array.name, None, line, name, name, meaning, text))
    lost.poison(_ILLEGAL, f"{array.name} is a CPU tensor: kernel {name!r} used an address of the host's.")
