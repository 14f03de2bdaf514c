"""What an answer prints while it is checked: kept back and counted, so that it does not bury the verdict."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import threading
import warnings
from collections.abc import Iterator

SHOWN = 3  # lines
WIDEST = 100  # characters of a line


class Printed(io.TextIOBase):
    """Takes the place of a text stream; keeps the first lines and the count of all."""

    def __init__(self):
        self.first: list[str] = []
        self.count = 0
        self._line = ""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            *whole, self._line = (self._line + text).split("\n")
            self._line = self._line[: WIDEST + 1]
            self.count += len(whole)
            self.first += whole[: SHOWN - len(self.first)]
        return len(text)

    def warning(self) -> str | None:
        """The first lines in one sentence, None if nothing was printed."""
        if self._line:
            self.write("\n")
        if not self.count:
            return None
        lines = " / ".join(line if len(line) <= WIDEST else line[:WIDEST] + "..." for line in self.first)
        more = f" ({self.count - SHOWN} more lines not shown)" if self.count > SHOWN else ""
        return f"your code printed during the check: {lines}{more}"


@contextlib.contextmanager
def kept_back() -> Iterator[Printed]:
    """Inside this block Python's output, and what kernels print to the process's own, goes to the Printed.

    Warnings are not output: whoever calls the answer outside a check sees them.
    """
    printed = Printed()
    with (
        warnings.catch_warnings(),
        _process_output_to(printed),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("ignore")
        yield printed


@contextlib.contextmanager
def _process_output_to(printed: Printed) -> Iterator[None]:
    """File descriptor 1 through a pipe, which a thread empties: a kernel may print without end."""
    try:
        real = os.dup(1)
    except OSError:  # there is none
        yield
        return
    source, sink = os.pipe()
    reader = threading.Thread(target=_drain, args=(source, printed), daemon=True)
    reader.start()
    os.dup2(sink, 1)
    os.close(sink)
    try:
        yield
    finally:
        os.dup2(real, 1)  # closes the pipe's last writing end, which ends the reader
        os.close(real)
        reader.join(1)  # a process that the answer started may still hold that end


def _drain(source: int, printed: Printed) -> None:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with open(source, "rb", buffering=0) as pipe:
        while data := pipe.read(1 << 16):
            printed.write(decode(data))
