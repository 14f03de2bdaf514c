"""The parent's side of the sandbox: start the worker, listen, hold it to its limits, and say how it ended."""

import json
import os
import secrets
import selectors
import tempfile
import threading
import time

from grader.sandbox import processes, verdicts
from grader.sandbox.frames import Receiver
from grader.sandbox.job import Job, Outcome, Reported, Status

POLL = 0.1  # seconds between looks at memory and clock
OUTPUT_KEPT = 64 * 1024  # bytes of a hand-in's output that are kept
NOTE_LIMIT = 2000  # characters kept of any text that a worker reports


class Cancelled(Exception):
    """The batch was interrupted while this job was running; the job's processes are gone."""


def run(job: Job, stop: threading.Event | None = None) -> Outcome:
    """Run one hand-in in its own process and check its answers there, one after the other.

    Returns an Outcome whatever the hand-in does; raises Cancelled if `stop` is set meanwhile. Every process
    that the hand-in started is gone on return.
    """
    with tempfile.TemporaryDirectory(prefix="handin-", ignore_cleanup_errors=True) as folder:
        return _Supervision(job, stop or threading.Event()).run(folder)


class _Supervision:
    def __init__(self, job: Job, stop: threading.Event):
        self.job = job
        self.stop = stop
        self.outcome = Outcome(Status.GRADED)
        self.token = secrets.token_hex(16)
        self.receiver = Receiver(self.token)
        self.answers = {cell.index: cell.exercise for cell in job.cells if cell.exercise}
        self.reported: dict[int, Reported] = {}
        self.ready = self.done = False
        self.failure = ""  # what the worker says about a failure of ours
        self.wants_input = self.out_of_memory = False
        self.current: int | None = None
        self.cell_started = 0.0
        self.printed = 0
        self.kept = bytearray()

    def run(self, folder: str) -> Outcome:
        started = time.monotonic()
        mark = secrets.token_hex(8)
        read_fd, write_fd = os.pipe()
        with tempfile.TemporaryFile(dir=folder) as order:
            order.write(json.dumps(self._order(write_fd)).encode("ascii"))
            order.seek(0)
            process = processes.start(
                "grader.sandbox.worker", order, write_fd, folder, mark, self.job.threads
            )
        os.close(write_fd)
        try:
            stopped = self._listen(process, read_fd, started)
        finally:
            code = processes.end(process, mark)
            process.stdout.close()
            os.close(read_fd)
        self._conclude(stopped, code)
        self.outcome.seconds = time.monotonic() - started
        return self.outcome

    def _order(self, fd: int) -> dict:
        cells = [{"index": c.index, "source": c.source, "exercise": c.exercise} for c in self.job.cells]
        return {"fd": fd, "token": self.token, "cells": cells}

    def _listen(self, process, read_fd: int, started: float) -> tuple[Status, str] | None:
        """Take in frames and output until the process is over (None), or a limit is passed (which one).

        That the worker says it is done ends nothing: a hand-in may have said so. Only with the end of the
        process is it certain that every frame has been seen, however they fell into reads.
        """
        output_fd = process.stdout.fileno()
        handlers = {read_fd: self._take_frames, output_fd: self._take_output}
        next_look = 0.0
        with selectors.DefaultSelector() as selector:
            for fd in handlers:
                os.set_blocking(fd, False)
                selector.register(fd, selectors.EVENT_READ)
            while True:
                ended = processes.has_ended(
                    process
                )  # asked first: what it wrote before its end is read below
                ready = [key.fd for key, _ in selector.select(0 if ended else POLL)]
                for fd in ready:
                    if not (data := os.read(fd, 2**16)):
                        selector.unregister(fd)
                    else:
                        handlers[fd](data)
                if ended and read_fd not in ready:  # output may go on: some child holds that pipe
                    return None
                if self.stop.is_set():
                    raise Cancelled
                if not selector.get_map():  # it closed both pipes and lives on: nothing more can come of it
                    time.sleep(POLL)
                now = time.monotonic()
                if now >= next_look:
                    next_look = now + POLL
                    if broken := self._broken_limit(process.pid, now - started):
                        return broken

    def _broken_limit(self, pid: int, elapsed: float) -> tuple[Status, str] | None:
        memory = processes.resident(pid)
        self.outcome.peak_memory = max(self.outcome.peak_memory, memory)
        if memory > self.job.memory:
            return (
                Status.OUT_OF_MEMORY,
                f"used {memory / 2**30:.1f} GiB; the limit is {self.job.memory / 2**30:g} GiB",
            )
        if self.printed > self.job.flood:
            return Status.OUTPUT_FLOOD, f"printed more than {self.job.flood / 2**20:g} MiB"
        if elapsed > self.job.timeout:
            return Status.TIMEOUT, f"was not done after {self.job.timeout:g} s"
        return None

    def _take_output(self, data: bytes) -> None:
        self.printed += len(data)
        self.kept += data[: OUTPUT_KEPT - len(self.kept)]

    def _take_frames(self, data: bytes) -> None:
        self.printed += len(data)
        for frame in self.receiver.feed(data):
            try:
                self._take(frame)
            except (KeyError, TypeError, ValueError):
                self.receiver.foreign += 1

    def _take(self, frame: dict) -> None:
        if self.done:
            self._suspect("went on after it had reported its end")
        match frame["event"]:
            case "ready":
                self.ready = True
                self.outcome.made_with = dict(frame["made_with"])
            case "cell":
                self.current, self.cell_started = int(frame["cell"]), time.monotonic()
            case "verdict":
                self._take_verdict(int(frame["cell"]), str(frame["exercise"]), dict(frame["verdict"]))
            case "error":
                self.outcome.errors[int(frame["cell"])] = str(frame["text"])[:NOTE_LIMIT]
                self.out_of_memory |= bool(frame["memory"])
            case "check_failed":
                self.outcome.unjudged[str(frame["exercise"])] = str(frame["why"])[-NOTE_LIMIT:]
            case "input":
                self.wants_input = True
            case "failed":
                self.failure = str(frame["why"])[-NOTE_LIMIT:]
            case "done":
                self.done = True
                if self._unchecked():
                    self._suspect("reported its end before every answer was checked")

    def _unchecked(self) -> list[int]:
        """Answer cells of which nothing has been reported."""
        return [
            cell
            for cell, exercise in self.answers.items()
            if cell not in self.reported and exercise not in self.outcome.unjudged
        ]

    def _suspect(self, what: str) -> None:
        if what not in self.outcome.suspect:
            self.outcome.suspect.append(what)

    def _take_verdict(self, cell: int, exercise: str, verdict: dict) -> None:
        if not verdicts.is_sound(verdict, exercise):
            raise ValueError("not a verdict")
        if self.answers.get(cell) != exercise:
            self._suspect(f"a verdict for '{exercise[:80]}' in cell {cell}, which holds no answer to it")
        elif cell in self.reported:
            if self.reported[cell].verdict != verdict:
                self._suspect(f"two different verdicts for '{exercise}' from one cell")
                self.outcome.unjudged[exercise] = "reported twice, with different verdicts"
        else:
            seconds = time.monotonic() - self.cell_started
            self.reported[cell] = Reported(cell, exercise, verdict, seconds)

    def _conclude(self, stopped: tuple[Status, str] | None, code: int) -> None:
        outcome = self.outcome
        outcome.output = self.kept.decode("utf-8", "replace")
        outcome.verdicts = [r for r in self.reported.values() if r.exercise not in outcome.unjudged]
        if self.receiver.foreign:
            outcome.suspect.append(f"{self.receiver.foreign} foreign messages on the result channel")
        if self.failure or not (self.ready or stopped):
            said = (self.failure or outcome.output).strip()
            last = said.splitlines()[-1] if said else processes.describe_exit(code)
            outcome.status = Status.INFRASTRUCTURE
            outcome.note = f"the grading process could not {'go on' if self.ready else 'start'}: {last}"
        elif stopped:
            outcome.status, outcome.note = stopped[0], f"{stopped[1]}; stopped {self._where()}"
        elif not self.done or code != 0:
            outcome.status = Status.DIED
            outcome.note = f"the process ended by itself ({processes.describe_exit(code)}) {self._where()}"
        elif outcome.unjudged:
            outcome.status = Status.PARTLY_GRADED if outcome.verdicts else Status.INFRASTRUCTURE
            outcome.note = f"could not be judged: {', '.join(sorted(outcome.unjudged))}"
        elif self._unchecked():
            outcome.status = Status.PARTLY_GRADED
            outcome.note = "ended before every answer was checked"
        elif self.wants_input:
            outcome.status = Status.NEEDS_INPUT
            outcome.note = "a cell asked for keyboard input, and there is nobody to type it while grading"
        elif self.out_of_memory:
            outcome.status, outcome.note = Status.OUT_OF_MEMORY, "a cell asked for more memory than there is"

    def _where(self) -> str:
        if self.current is None:
            return "before the first cell"
        answer = self.answers.get(self.current)
        return f"in cell {self.current + 1}" + (f", the answer to {answer}" if answer else "")
