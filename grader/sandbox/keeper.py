"""The process between the grader and a hand-in. Run as a file: it starts the hand-in's process, waits for it,
and ends as that one ended.

A hand-in that ends its parent (`os.kill(os.getppid(), ...)`) ends this process, and with it only itself, not
the batch. It imports nothing of ours, so that it is there at once and stays small.
"""

import contextlib
import ctypes
import os
import signal
import sys


def main(grader: int, channel: int, command: list[str]) -> None:
    """Run `command` and end like it. grader: the process that started this one, channel: the result channel's
    descriptor, which only the hand-in's process is to hold.
    """
    die_with = _die_with_parent()
    die_with(grader)
    here = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(here)  # outlasts the exec: there is no moment in which it would be left running
        os.execv(command[0], command)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(channel)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler to be reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(here, -code)
    os._exit(code if code >= 0 else 1)


def _die_with_parent():
    """A function that lets this process be killed when its parent, which it is told, is no more: a batch that
    is killed must not leave endless loops behind (Linux; elsewhere they end at their own pace).
    """
    if sys.platform != "linux":
        return lambda parent: None
    prctl = ctypes.CDLL(None).prctl
    set_parent_death_signal = 1

    def die_with(parent: int) -> None:
        prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before
            os._exit(1)

    return die_with


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
