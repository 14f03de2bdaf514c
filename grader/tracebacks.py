"""Notebook tracebacks of the learner's own lines only."""

from __future__ import annotations

import sys
import sysconfig
import types
from pathlib import Path

_OURS = str(Path(__file__).resolve().parent)
_LIBRARIES = tuple(
    str(Path(sysconfig.get_paths()[key]).resolve()) for key in ("stdlib", "platstdlib", "purelib", "platlib")
)


def of_their_lines(error: BaseException) -> None:
    """Let IPython show `error` without the frames of ours and of packages. Elsewhere nothing changes."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if not shell:
        return

    def render() -> list[str]:
        theirs = _theirs(error.__traceback__) or error.__traceback__
        return shell.InteractiveTB.structured_traceback(type(error), error, theirs, tb_offset=0)

    error._render_traceback_ = render


def is_learners(filename: str) -> bool:
    """True for a notebook cell, a console or a file of the learner's; False for ours, Python's, packages'
    and those that torch.compile writes.
    """
    if "ipykernel_" in filename or filename.startswith("<"):
        return not filename.startswith(("<frozen", "<eval_with_key>"))
    path = str(Path(filename).resolve())
    if "site-packages" in path or "torchinductor" in path:  # also of another environment than this one
        return False
    return not path.startswith((_OURS, *_LIBRARIES))


def _theirs(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while trace is not None:
        kept += [trace] if is_learners(trace.tb_frame.f_code.co_filename) else []
        trace = trace.tb_next
    below = None
    for step in reversed(kept):
        below = types.TracebackType(below, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return below
