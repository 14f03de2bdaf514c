"""Around each piece of work: what it is guaranteed to see is put in place, what nothing orders is found."""

from __future__ import annotations

from typing import Any

from grader.simgpu import memory
from grader.simgpu.order import budget, host, regions, reruns, turns
from grader.simgpu.order.clocks import Agent
from grader.simgpu.order.history import History
from grader.simgpu.order.records import Op, Read, Write
from grader.simgpu.order.state import Order, order
from grader.simgpu.order.steps import Step
from grader.simgpu.order.wording import finding
from grader.simgpu.pinned_pool import PinnedStorage


def history_of(state: Order, access: Any) -> History | None:
    """The history of the memory behind `access`; None if that is not followed, or gone."""
    storage = access.storage()
    if storage is None:
        return None
    history = storage.__dict__.get("_history")
    if history is None:
        kind = type(storage)
        if kind is not memory.SimStorage and kind is not PinnedStorage:
            return None
        try:
            address = storage.data_ptr()
        except RuntimeError:  # functorch's wrappers have no memory of their own
            return None
        history = History(address, storage.nbytes(), host=kind is PinnedStorage)
        storage._history = history
        if kind is memory.SimStorage:
            state.born(history, storage)
    elif history.address != storage.data_ptr():  # PyTorch gave the storage another size
        history.settle()
        history.address, history.nbytes = storage.data_ptr(), storage.nbytes()
    if history.pruned != state.host.version:
        history.prune(state.host)
    return history


def before(work: Any) -> None:
    """Memory shows what the stream of `work` is guaranteed to see, until `after(work)`."""
    state = order()
    with state.lock:
        if state.open:
            turns.await_turn(state, work)
        state.open[id(work)] = _prepare(state, work)


def after(work: Any) -> None:
    """`work` has run: note what it read and wrote, put memory right, do again what it may overtake."""
    state = order()
    with state.lock:
        step = state.open.pop(id(work), None)
        if step is None:
            return
        try:
            _finish(state, step, work)
        finally:
            if state.waiting:
                state.over.notify_all()


# ------------------------------------------------------------------ before


def _prepare(state: Order, work: Any) -> Step:
    if memory.dead or state.blocks.dead:
        memory.drain()
        state.blocks.bury()
    agent = work.stream.agent
    agent.tick()
    step = Step(Op(next(state.numbers), work, agent), work.writes)
    views: list[tuple[History, Any]] = []
    for access in work.reads:
        history = history_of(state, access)
        if history is None or not history.writes:
            continue
        stale = history.host
        for write in _unseen(history, agent, access):
            stale = True
            _report(state, "read_before_write", access, write, step.op)
        if stale:
            views.append((history, access))
    for access in work.writes:
        history = history_of(state, access)
        if history is None:
            continue
        host = history.host
        unordered = False
        for write in _unseen(history, agent, access):
            unordered = True
            _report(state, "two_writes", access, write, step.op)
        if unordered:
            step.unordered = {*step.unordered, id(access)}
        if history.reads:
            _overtaken(step, history, access)
        stash = host or ((history.writes or not history.fresh) and not history.continues(agent, access))
        now = history.bytes_at(access.low, access.high) if stash else None
        state.added += len(now or ())
        step.prepared.append((access, history, now))
        if unordered or host:
            step.saved.append((history, access.low, history.bytes_at(access.low, access.high)))
            if host and history.writes:
                views.append((history, access))
    if views:
        _show(step, views)
    return step


def _unseen(history: History, agent: Agent, access: Any) -> list[Write]:
    """The writes to what `access` says that `agent` is not ordered after."""
    clock = agent.clock
    found = []
    for write in history.writes:
        by = write.agent
        if (
            by is not agent
            and clock.get(by.number, 0) < write.epoch
            and regions.overlap(write.access, access)
        ):
            found.append(write)
    return found


def _show(step: Step, views: list[tuple[History, Any]]) -> None:
    """Put the contents that the work is guaranteed to see into the real memory."""
    sees = step.op.agent.sees
    step.swapped = set()
    images = []
    shown = {id(history) for history, _ in views}
    for access, history, _ in step.prepared:
        if id(history) in shown:
            views = [*views, (history, access)]
    for history, access in views:
        step.saved.append((history, access.low, history.bytes_at(access.low, access.high)))
        step.swapped.add(id(history))
        image = history.view(access.low, access.high, lambda w: sees(w.agent, w.epoch), access.dtype)
        images.append((history, access.low, image))
    for history, low, image in images:
        history.put(low, image)


def _overtaken(step: Step, history: History, access: Any) -> None:
    agent = step.op.agent
    for read in history.reads:
        if read.agent is agent or agent.clock.get(read.agent.number, 0) >= read.epoch:
            continue
        if regions.overlap(read.access, access):
            step.late.append((history, access, read))


# ------------------------------------------------------------------ after


def _finish(state: Order, step: Step, work: Any) -> None:
    op = step.op
    fresh = _fresh(state, step, work) if work.writes is not step.given else ()
    if step.saved or step.coming is not None:
        wrote = _put_right(state, step)
    else:
        wrote = []
        for access, history, now in step.prepared:
            wrote.append(history)
            state.touch(history)
            history.wrote(op, access, now)
            history.fresh = False
    for access, history in fresh:
        wrote.append(history)
        state.touch(history)
        _made(state, history, op, access)
    for access in work.reads:
        history = history_of(state, access)
        if history is not None:
            state.touch(history)
            copy = host.uploading(history, access, op) if history.host else None
            state.added += len(copy or ())
            history.reads.append(Read(op, access, history.generation, copy))
            if history not in wrote:
                history.read_since = True
            if history.crowded():
                history.compact(state.knowing())
    state.log.append(op)
    for _, history, _ in step.prepared:
        if history.crowded():
            history.compact(state.knowing())
    if step.late:
        _redo_late(state, step)
    budget.keep(state)


def _put_right(state: Order, step: Step) -> list[History]:
    """Put what was saved back into memory, and what was written where it belongs; what has been written."""
    op, prepared, wrote = step.op, step.prepared, []
    results = [
        history.bytes_at(access.low, access.high)
        if history.host or id(access) in step.unordered or id(history) in step.swapped
        else None
        for access, history, _ in prepared
    ]
    for history, low, now in reversed(step.saved):
        history.put(low, now)
    if step.coming is not None:
        _download(state, step)
    for (access, history, now), result in zip(prepared, results, strict=True):
        wrote.append(history)
        state.touch(history)
        if step.coming is not None and access is step.coming[0]:
            continue
        if history.host:
            host.downloaded(state, history, Write(op, access, now), result)
        elif result is None:
            history.wrote(op, access, now)
        else:
            _insert(history, op, access, result)
        history.fresh = False
    return wrote


def _fresh(state: Order, step: Step, work: Any) -> list[tuple[Any, History]]:
    """The writes that were not known before it ran: of memory that it made."""
    known = {id(access) for access, _, _ in step.prepared}
    fresh = []
    for access in work.writes:
        if id(access) in known or (step.coming is not None and access is step.coming[0]):
            continue
        storage = access.storage()
        if storage is not None and storage.__dict__.get("_history") is None:
            storage._born = None  # this is its first write
        history = history_of(state, access)
        if history is not None:
            if history.reads:
                _overtaken(step, history, access)
            fresh.append((access, history))
    return fresh


def _made(state: Order, history: History, op: Op, access: Any) -> None:
    """Note that `op` made what `access` says, maybe in a block that was used before."""
    stash, history.stash, history.fresh = history.stash, None, False
    if stash is None:
        history.wrote(op, access, None)
        return
    state.added += len(stash)
    late = _unseen(history, op.agent, access)
    if not late:
        history.wrote(op, access, stash[access.low : access.high])
        return
    for write in late:
        _report(state, "use_after_free", write.access, write, op)
    result = history.bytes_at(access.low, access.high)
    history.put(0, stash)
    _insert(history, op, access, result)


def _download(state: Order, step: Step) -> None:
    access, now, after = step.coming
    history = history_of(state, access)
    if history is not None:
        state.touch(history)
        host.downloaded(state, history, Write(step.op, access, now), after)


def _insert(history: History, op: Op, access: Any, result: bytes) -> None:
    """Note a write that came out of order: it stands right after the writes that it is ordered after."""
    write = Write(op, access, None)
    position = history.part(lambda w: op.agent.sees(w.agent, w.epoch))
    history.place(write, result, position)
    op.writes.append((history, write))
    history.read_since = history.read_since or position < len(history.writes) - 1


def _redo_late(state: Order, step: Step) -> None:
    """The reads that this work may overtake: they are done again with what it wrote."""
    reads = []
    mine = {id(h): w for h, w in step.op.writes}
    for history, access, read in step.late:
        kind = "overwritten_while_read" if read.generation == history.generation else "use_after_free"
        if not _told(history, read.op, step.op.agent):
            _report(state, kind, read.access if kind == "use_after_free" else access, read, step.op)
        write = mine.get(id(history))
        if write is not None and write not in read.op.extra:
            read.op.extra.append(write)
            write.overtakes = True
        reads.append(read.op)
    if state.open:
        turns.await_all(state)
    reruns.redo(state, reads)


def _told(history: History, earlier: Op, agent: Agent) -> bool:
    """Has it been reported that `agent` does not wait for what `earlier` wrote there?"""
    return any(agent in w.told_of and w.ops and earlier in w.ops for w in history.writes)


def _report(state: Order, kind: str, access: Any, earlier: Read | Write, op: Op) -> None:
    """Report the first of what an agent does without having waited for `earlier`: one wait mends it all."""
    if op.agent not in earlier.told_of:
        earlier.told_of = (*earlier.told_of, op.agent)
        state.findings.report(finding(kind, access, earlier, op))
