"""Threads take turns: work waits for another thread's that runs now and has to do with the same memory.

The lock of `Order` guards its records and is never held while work computes its values: that may take for
ever. Waiting for it can be interrupted, as every wait of Python's for a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from grader.simgpu.order.state import Order


def await_turn(state: Order, work: Any) -> None:
    """Wait, holding the lock, until no other thread's work that runs now gets in the way of `work`."""
    touched = {a.key for a in (*work.reads, *work.writes)}
    written = {a.key for a in work.writes}

    def conflicts(step: Any) -> bool:
        other = step.op.work
        if not touched.isdisjoint(a.key for a in other.writes):
            return True
        read = {a.key for a in other.reads} & touched
        return bool(read) and (bool(step.saved) or not written.isdisjoint(read) or _looks_back(work, read))

    _wait_while(state, conflicts)


def await_contents(state: Order) -> None:
    """Wait, holding the lock, until no memory shows older contents for another thread's work."""
    _wait_while(state, lambda step: bool(step.saved))


def await_all(state: Order) -> None:
    """Wait, holding the lock, until no other thread's work runs."""
    _wait_while(state, lambda step: True)


def _wait_while(state: Order, hinders: Callable[[Any], bool]) -> None:
    me = threading.get_ident()
    while any(step.thread != me and hinders(step) for step in state.open.values()):
        state.waiting += 1
        try:
            state.over.wait()
        finally:
            state.waiting -= 1


def _looks_back(work: Any, keys: set[int]) -> bool:
    """May `work` have to see older contents of that memory than are there?"""
    agent = work.stream.agent
    for access in work.reads:
        history = getattr(access.storage(), "_history", None) if access.key in keys else None
        if history is not None and any(not agent.sees(w.agent, w.epoch) for w in history.writes):
            return True
    return False
