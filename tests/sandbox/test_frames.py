"""What the supervisor makes of frames does not depend on how they fall into reads."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from grader.check import Values, Verdict
from grader.sandbox import Cell, Job, Status
from grader.sandbox.supervise import _Supervision

ANSWER = "jit-add"
READY = {"event": "ready", "made_with": {"torch": "2.13.0"}}
STARTED = {"event": "cell", "cell": 2}
DONE = {"event": "done"}
FORGED_END = "reported its end before every answer was checked"
WENT_ON = "went on after it had reported its end"


def verdict(values=Values.WRONG, cell=2, exercise=ANSWER):
    record = Verdict(ANSWER, values).to_json()
    return {"event": "verdict", "cell": cell, "exercise": exercise, "verdict": record}


def whole(data):
    return [data]


def lines(data):
    return data.splitlines(keepends=True)


def bytewise(data):
    return [data[n : n + 1] for n in range(len(data))]


def halves_of_lines(data):
    middles = [0, *(n - 5 for n, byte in enumerate(data) if byte == 10), len(data)]
    return [data[a:b] for a, b in zip(middles, middles[1:], strict=False)]


@pytest.fixture(params=[whole, lines, bytewise, halves_of_lines])
def outcome_of(request):
    """outcome_of(*frames, code=0): the outcome of a hand-in with one answer, in cell 2, whose process sends
    these frames and ends with this exit code. Runs with the frames cut into reads in each way.
    """

    def run(*frames, code=0):
        supervision = _Supervision(Job((Cell(1, ""), Cell(2, "", ANSWER))), threading.Event())
        data = "".join(f"{supervision.token} {json.dumps(frame)}\n" for frame in frames).encode("ascii")
        pieces = request.param(data)
        assert b"".join(pieces) == data
        for piece in pieces:
            supervision._take_frames(piece)
        supervision._conclude(None, code)
        return supervision.outcome

    return run


def values(outcome):
    return [report.verdict["values"] for report in outcome.verdicts]


def test_a_hand_in_that_goes_well_is_graded_and_not_suspect(outcome_of):
    outcome = outcome_of(READY, STARTED, verdict(), DONE)
    assert (outcome.status, outcome.note, outcome.suspect) == (Status.GRADED, "", [])
    assert values(outcome) == ["WRONG"]


def test_a_forged_end_before_the_check_is_noted_and_the_check_counts(outcome_of):
    outcome = outcome_of(READY, DONE, STARTED, verdict(), DONE)
    assert outcome.suspect == [FORGED_END, WENT_ON] and values(outcome) == ["WRONG"]


def test_a_forged_verdict_and_end_do_not_hide_the_check_that_follows(outcome_of):
    outcome = outcome_of(READY, verdict(Values.PASS), DONE, STARTED, verdict(), DONE)
    assert values(outcome) == [] and ANSWER in outcome.unjudged and outcome.status is not Status.GRADED
    assert WENT_ON in outcome.suspect


@pytest.mark.parametrize("code", [0, 3, -11])
def test_a_forged_end_with_nothing_behind_it_is_not_graded(outcome_of, code):
    outcome = outcome_of(READY, DONE, code=code)
    assert outcome.status is (Status.DIED if code else Status.PARTLY_GRADED)
    assert outcome.suspect == [FORGED_END] and values(outcome) == []


def test_an_answer_that_could_not_be_checked_is_no_forged_end(outcome_of):
    outcome = outcome_of(READY, {"event": "check_failed", "cell": 2, "exercise": ANSWER, "why": "x"}, DONE)
    assert outcome.suspect == [] and outcome.status is Status.INFRASTRUCTURE


@pytest.mark.parametrize(
    "frame",
    [
        verdict(Values.PASS, cell=9, exercise="no-such"),
        verdict(Values.PASS, cell=1),
        verdict(Values.PASS) | {"verdict": {"values": "PASS"}},
        verdict(Values.PASS) | {"verdict": verdict(Values.PASS)["verdict"] | {"lines": [1]}},
        {"event": "verdict", "cell": None, "exercise": None, "verdict": None},
        {"event": "nonsense"},
    ],
)
def test_frames_that_make_no_sense_change_no_verdict(outcome_of, frame):
    outcome = outcome_of(READY, frame, STARTED, verdict(), DONE)
    assert values(outcome) == ["WRONG"] and outcome.status is Status.GRADED
    assert outcome.suspect or frame == {"event": "nonsense"}


@pytest.fixture
def listened():
    """listened(program, *frames): a supervision that has listened to `python -c program`, which gets as
    arguments the number of the result channel and the frames.
    """
    started = []

    def listen(program, *frames):
        supervision = _Supervision(Job((Cell(2, "", ANSWER),), timeout=30.0, flood=2**40), threading.Event())
        channel, theirs = os.pipe()
        lines = [f"{supervision.token} {json.dumps(frame)}" for frame in frames]
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(theirs), *lines],
            stdout=subprocess.PIPE,
            pass_fds=(theirs,),
            start_new_session=True,
        )
        started.append((process, channel))
        os.close(theirs)
        assert supervision._listen(process, channel, time.monotonic()) is None
        return supervision

    yield listen
    for process, channel in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        os.close(channel)


WRITE = "import os, sys, time\nfor line in sys.argv[2:]: os.write(int(sys.argv[1]), line.encode() + b'\\n')"


def test_what_is_sent_long_after_an_end_is_still_heard(listened):
    supervision = listened(WRITE + "; time.sleep(0.5)", READY, DONE, STARTED, verdict(), DONE)
    supervision._conclude(None, 0)
    assert supervision.outcome.suspect == [FORGED_END, WENT_ON] and values(supervision.outcome) == ["WRONG"]


def test_a_child_that_goes_on_printing_does_not_hold_up_the_end(listened):
    program = "import subprocess\nchild = subprocess.Popen(['sh', '-c', 'while :; do echo; done'])\n"
    supervision = listened(f"{program}print(child.pid, flush=True)\n{WRITE}", READY, STARTED, verdict(), DONE)
    assert supervision.done and not supervision.outcome.suspect
    os.kill(int(supervision.kept.split()[0]), 0)  # it is still there
