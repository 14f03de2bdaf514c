"""Places in kernels that touch memory: the runtime speaks of them by number."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Site:
    """A line of a kernel, and the name that it gives to what it touches ("" if it has none).

    `ndim`: the dimensions of that, 0 if it is no array.
    """

    filename: str
    line: int
    name: str = ""
    ndim: int = 0

    @property
    def text(self) -> str:
        """The source line, stripped; "" if it cannot be read any more."""
        return linecache.getline(self.filename, self.line).strip()


@dataclass
class Sites:
    """All sites of this process's kernels; number 0 is "unknown"."""

    known: list[Site] = field(default_factory=lambda: [Site("", 0)])
    numbers: dict[Site, int] = field(default_factory=dict)

    def number(self, site: Site) -> int:
        """The number of `site`, a new one if it is new."""
        found = self.numbers.get(site)
        if found is None:
            found = self.numbers[site] = len(self.known)
            self.known.append(site)
        return found

    def __getitem__(self, number: int) -> Site:
        return self.known[number] if 0 <= number < len(self.known) else self.known[0]
