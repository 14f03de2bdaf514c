"""The result channel between worker and supervisor: one line a frame, `TOKEN {json}`, over an unnamed
pipe.
"""

import json
import os

FRAME_LIMIT = 2**20  # bytes; a verdict is a few kilobytes


class Sender:
    """The worker's end. `send(event, **fields)` writes one frame; OSError if the pipe has been closed."""

    def __init__(self, fd: int, token: str):
        # A high number: a hand-in that closes the usual ones and opens a file must not get this one back.
        self._fd = _move_high(fd)
        self._token = token
        self._pid = os.getpid()

    def send(self, event: str, **fields) -> None:
        if os.getpid() != self._pid:
            os._exit(
                0
            )  # a hand-in forked and its child came back out of the cell: it must not report for its parent
        data = f"{self._token} {json.dumps({'event': event, **fields})}\n".encode("ascii")
        while data:
            data = data[os.write(self._fd, data) :]


def _move_high(fd: int) -> int:
    import fcntl

    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200 + os.urandom(1)[0])
    os.close(fd)
    return high


class Receiver:
    """The supervisor's end: feed it bytes, it returns frames. Whatever is not one of our frames is only
    counted.
    """

    def __init__(self, token: str):
        self._prefix = token.encode("ascii") + b" "
        self._rest = b""
        self.foreign = 0

    def feed(self, data: bytes) -> list[dict]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > FRAME_LIMIT:
            self._rest = b""
            self.foreign += 1
        return [frame for line in lines if (frame := self._frame(line)) is not None]

    def _frame(self, line: bytes) -> dict | None:
        if line.startswith(self._prefix) and len(line) <= FRAME_LIMIT:
            try:
                frame = json.loads(line[len(self._prefix) :])
            except (ValueError, RecursionError):
                frame = None
            if isinstance(frame, dict) and isinstance(frame.get("event"), str):
                return frame
        self.foreign += 1
        return None
