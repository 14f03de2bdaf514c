"""What the guard found at the end of a kernel, in words; native/cpp/guard.h numbers the outcomes."""

from __future__ import annotations

import signal
import threading

import torch

from grader.simgpu import lost

INTERRUPTED, TRAP = 1, 4
_ILLEGAL = "CUDA error: an illegal memory access was encountered: "
_WAITED = (
    "{where} of the kernel {name!r} was running. Threads here take turns only at barriers, so a loop that "
    "waits for another thread never ends (grader.limits())"
)
_ENDINGS = {
    2: "the kernel {name!r} ran out of stack: it (or a function it calls) calls itself without end. "
       "Which call is the last one?",
    3: _ILLEGAL + "the kernel {name!r} reads or writes memory that is not its own "
       "(an index outside a local array, or a wild pointer)",
    5: "the kernel {name!r} reached the end of a function that must return a value: on a GPU the result "
       "would be whatever a register holds. Which path has no return?",
    6: "the kernel {name!r} stopped at an arithmetic operation that this processor cannot do",
    7: _ILLEGAL + "the kernel {name!r} wrote outside a local array",
}  # fmt: skip


def explain(outcome: int, name: str, where: str = "") -> None:
    """Raise what the guard's `outcome`, other than 0, means for the kernel `name`.

    where: the thread that ran when an interrupt came, if known. After a trap nothing is raised: the launch
    succeeds, as on a GPU, and the device is lost.
    """
    if outcome == INTERRUPTED:
        if threading.current_thread() is threading.main_thread():
            said = [_WAITED.format(where=where, name=name)] if where else []
            try:
                signal.raise_signal(signal.SIGINT)  # Python's own handler decides what an interrupt means
            except KeyboardInterrupt as error:
                error.args = error.args or tuple(said)
                raise
            raise KeyboardInterrupt(*said)
        raise RuntimeError(f"the kernel {name!r} was stopped")
    if outcome == TRAP:
        lost.poison("unspecified launch failure", f"A kernel executed a trap: {name!r}.")
        return
    text = _ENDINGS[outcome].format(name=name)
    raise (torch.AcceleratorError if text.startswith("CUDA error") else RuntimeError)(text)
