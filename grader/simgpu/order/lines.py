"""Lines of the learner's code: where a piece of work was asked for."""

from __future__ import annotations

import functools
import linecache
import sys
from dataclasses import dataclass
from types import FrameType

from grader import tracebacks

_is_theirs = functools.lru_cache(maxsize=4096)(tracebacks.is_learners)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, a notebook cell or a console."""

    file: str
    number: int

    @property
    def text(self) -> str:
        """The line itself, stripped; "" where the source is not known."""
        return linecache.getline(self.file, self.number).strip()

    def within(self, other: Line | None) -> Line:
        """The line to name beside `other`, which is at fault too."""
        return self

    def __str__(self) -> str:
        return f"line {self.number}: `{self.text}`" if self.text else f"line {self.number}"


def here() -> Line | None:
    """The learner's line that this thread is at: the innermost frame that is neither ours nor a package's."""
    frame = frame_here()
    return None if frame is None else Line(frame.f_code.co_filename, frame.f_lineno)


def frame_here() -> FrameType | None:
    """The frame of that line."""
    frame = sys._getframe(1)
    while frame is not None and not _is_theirs(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
