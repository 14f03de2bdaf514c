"""Starting, weighing and ending a process together with everything that it has started."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

KEEPER = str(Path(__file__).with_name("keeper.py"))
# In the environment of a hand-in's process, and so of all its children: by it they are found again.
MARK = "GRADER_HANDIN"


def start(module: str, stdin, pass_fd: int, folder: str, mark: str, threads: int) -> subprocess.Popen:
    """Start `python -m module` in its own session, in `folder`, with stdout and stderr in one pipe.

    Returns its keeper, the process between: the first one of the session, which ends as the module's ends.
    """
    environment = os.environ | {
        MARK: mark,
        "GRADER_PROGRESS": os.path.join(folder, "progress.json"),  # never the instructor's own
        "IPYTHONDIR": os.path.join(folder, "ipython"),
        "TMPDIR": folder,
        "MPLBACKEND": "Agg",
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [_package_root(), os.environ.get("PYTHONPATH")])),
        "OMP_NUM_THREADS": str(threads),
    }
    python = sys.executable
    return subprocess.Popen(
        [python, "-I", "-S", KEEPER, str(os.getpid()), str(pass_fd), python, "-m", module],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        pass_fds=(pass_fd,),
        start_new_session=True,
    )


def _package_root() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def has_ended(process: subprocess.Popen) -> bool:
    """True when the process is over. It is not reaped, so that its group id cannot be given to a stranger."""
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def resident(pid: int) -> int:
    """Bytes of resident memory of `pid` and all its descendants."""
    total = 0
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
    return total


def end(process: subprocess.Popen, mark: str) -> int:
    """Kill the process, its group and every straggler that carries its mark; return its exit code
    (negative: signal).
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    quiet = 0
    for _ in range(50):
        stragglers = [p for p in psutil.process_iter() if _carries(p, mark)]
        for straggler in stragglers:
            with contextlib.suppress(psutil.Error):
                straggler.kill()
        quiet = 0 if stragglers else quiet + 1
        if quiet == 2:  # one empty look may have fallen between a fork and the end of the parent
            break
        time.sleep(0.02)
    return code


def _carries(process: psutil.Process, mark: str) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


def describe_exit(code: int) -> str:
    """'exit code 3' or 'signal SIGKILL' in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
