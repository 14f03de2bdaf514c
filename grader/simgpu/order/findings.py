"""What is found wrong with the order of work, in the learner's terms: collected, or warned once."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.simgpu.order.lines import Line


class HazardWarning(UserWarning):
    """Work on the device that nothing orders: right today, perhaps, and wrong under load."""


@dataclass(frozen=True)
class Finding:
    """Two accesses to the same memory that nothing orders, or a kernel that breaks a rule of its launch.

    `first` is the line asked for earlier and `second` the later one, at which it was found; `first_stream`
    and `second_stream` say where they run. `tensor` names the memory, `missing` is what to add.
    """

    kind: str  # "read_before_write", "two_writes", "overwritten_while_read", "use_after_free",
    # "host_read_early", "host_write_early", or what a kernel's launch reports
    tensor: str
    first: Line | None
    second: Line | None
    first_stream: str
    second_stream: str
    missing: str
    what: str = ""  # both sentences, where `kind` is not one of those above

    @property
    def text(self) -> str:
        """The whole message, in plain words."""
        said = self.what or _SAID[self.kind].format(
            x=self.tensor,
            first=_at(self.first),
            second=_at(self.second),
            a=self.first_stream,
            b=self.second_stream,
        )
        return f"UNSAFE (race)   {said}\n{_LOAD} Missing: {self.missing}"

    @property
    def pair(self) -> tuple:
        """Findings with the same one are the same to a reader."""
        return self.kind, self.first, self.second, self.what


_LOAD = "On a real GPU this may look right today and be wrong under load."
_SAID = {
    "read_before_write": "{second} on {b} reads {x}\n"
    "{x} is written by {first} on {a}, and nothing makes {b} wait for it.",
    "two_writes": "{second} on {b} writes {x}\n"
    "{x} is also written by {first} on {a}, and nothing says which of the two comes last.",
    "overwritten_while_read": "{second} on {b} overwrites {x}\n"
    "{x} is read by {first} on {a}, which may still be waiting for its turn: nothing makes {b} wait for it.",
    "use_after_free": "{second} on {b} gets the memory that was {x}'s, and overwrites it\n"
    "{x} was freed, but {first} on {a} may still have to use it: the allocator knows only the stream that "
    "it was made on.",
    "host_read_early": "{second} reads {x} on the host\n"
    "{x} is filled by {first} on {a}, and nothing makes the host wait for that copy.",
    "host_write_early": "{second} changes {x} on the host\n"
    "{first} on {a} still copies {x}, and nothing makes the host wait for that copy.",
}


def _at(line: Line | None) -> str:
    return "work that you queued before" if line is None else f"your {line}"


@dataclass
class Findings:
    """The findings since the last `clear`, each pair of lines once."""

    found: dict[tuple, Finding] = field(default_factory=dict)
    collectors: list[list[Finding]] = field(default_factory=list)

    def report(self, finding: Finding) -> None:
        """Note `finding`: the collectors get it; where there are none it is warned, once a pair of lines."""
        for collector in self.collectors:
            if all(f.pair != finding.pair for f in collector):
                collector.append(finding)
        if finding.pair in self.found:
            return
        self.found[finding.pair] = finding
        if not self.collectors:
            _warn(finding)

    @contextlib.contextmanager
    def collect(self) -> Iterator[list[Finding]]:
        collector: list[Finding] = []
        self.collectors.append(collector)
        try:
            yield collector
        finally:
            self.collectors[:] = [c for c in self.collectors if c is not collector]

    def clear(self) -> None:
        self.found.clear()


def _warn(finding: Finding) -> None:
    line = finding.second or finding.first
    if line is None:
        warnings.warn(finding.text, HazardWarning, stacklevel=2)
    else:
        warnings.warn_explicit(finding.text, HazardWarning, line.file, line.number)
