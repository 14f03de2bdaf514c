"""How much of the past is kept: a program that never makes the host wait must not fill the machine's memory.

Beyond `_MOST` bytes of old contents, those of the oldest accesses go: they are taken for ordered.
"""

from __future__ import annotations

import ctypes
import sys

from grader.simgpu.order import host
from grader.simgpu.order.history import History
from grader.simgpu.order.records import Read, Write
from grader.simgpu.order.state import Order

_MOST = 192 << 20  # bytes of old contents
_STEP = 48 << 20  # how many more may come before anybody looks
_UNWATCHED = 256  # blocks with records before anybody looks for those that are gone


def keep(state: Order) -> None:
    """Forget what is too much, now that another piece of work has run."""
    if state.added > _STEP:
        state.added = 0
        _forget_oldest(state)
        _trim()
    if len(state.touched) > max(_UNWATCHED, 2 * state.alive):
        for key, history in list(state.touched.items()):
            if _gone(history):
                history.settle()
                del state.touched[key]
        state.alive = len(state.touched)


def _forget_oldest(state: Order) -> None:
    """Forget old contents until there is room for `_STEP` more bytes; the latest ones stay in any case."""
    kept = []
    for history in state.touched.values():
        for item in (*history.writes, *history.reads):
            size = _bytes_of(history, item)
            if size:
                kept.append((_number(item), size, history, item))
    over = sum(size for _, size, _, _ in kept) - (_MOST - _STEP)
    if over <= 0:
        return
    kept.sort(key=lambda k: k[0])
    for _, size, history, item in kept[:-1]:
        if over <= 0:
            return
        _forget(state, history, item)
        over -= size


def _trim() -> None:
    """What was freed goes back to the machine: glibc keeps it, scattered between what is still in use."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _number(item: Read | Write) -> int:
    return item.op.number if isinstance(item, Read) else item.number


def _bytes_of(history: History, item: Read | Write) -> int:
    held = len((item.copy if isinstance(item, Read) else item.before) or ())
    return held + len(history.landing[item]) if item in history.landing else held


def _forget(state: Order, history: History, item: Read | Write) -> None:
    if isinstance(item, Read):
        if item in history.reads:
            history.reads.remove(item)
    elif item not in history.writes:
        return
    elif history.host:
        item.told = True
        if item.access.storage() is not None:
            host.land_one(state, history, item)
    else:
        history.forget_until(item)


def _gone(history: History) -> bool:
    """Is the memory of that block gone, so that nobody can ever look at it?"""
    if history.freed or history.storages:
        return False
    return all(item.access.storage() is None for item in (*history.writes, *history.reads))
