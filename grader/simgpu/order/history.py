"""What happened to one block of memory since everybody last agreed on its contents.

The real memory holds the contents after all writes, in *location order*: a write that is not ordered after an
earlier one stands before it, as if the earlier one were late. Each write keeps what it overwrote, so that the
contents that some stream is guaranteed to see can be put together again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from grader.simgpu.order import regions
from grader.simgpu.order.clocks import Agent
from grader.simgpu.order.records import Op, Read, Write

_string_at = ctypes.string_at
_MOST_WRITES, _MOST_READS = 64, 128  # of a block; the oldest ones beyond that are taken for ordered
_LARGE, _MOST_LARGE = 1 << 20, 6  # a large block remembers fewer writes, for the sake of the machine's memory


class History:
    """The unfinished business of one block of memory.

    `host`: it is pinned memory of the host. The real memory then holds what the host is guaranteed to see,
    and `writes` are downloads that have not landed; their `before` is what the host had there, `landing`
    what comes.
    """

    __slots__ = (
        *("address", "nbytes", "writes", "reads", "host", "fresh", "listed", "pruned", "read_since"),
        *("stash", "limit", "most", "since"),
        *("generation", "freed", "storages", "stream_id", "holds", "used_on", "landing", "__weakref__"),
    )

    def __init__(self, address: int, nbytes: int, host: bool = False) -> None:
        self.address, self.nbytes, self.host = address, nbytes, host
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.landing: dict[Write, bytes] = {}
        self.fresh = False  # allocated and never written
        self.most = _MOST_WRITES if nbytes < _LARGE else _MOST_LARGE
        self.limit = self.most // 2
        self.since = 0  # work with a smaller number cannot be done again with this block
        self.stash: bytes | None = None  # what a block held when it was used again for a result
        self.listed = False
        self.pruned = -1  # the host's version when this was last pruned
        self.read_since = False  # has anybody read since the last write?
        self.generation, self.freed = 0, False  # how often it was used again; is it free now?
        # Of freed tensors: the first one keeps the memory, all of them the means to address it, till settled.
        self.storages: list[Any] = []
        self.stream_id = 0  # of the stream that it was allocated on
        self.used_on: list[Agent] = []  # record_stream
        self.holds: list[tuple[Agent, int]] = []  # what has to be over before a freed block is used again

    # ------------------------------------------------------------------ bytes

    def bytes_at(self, low: int, high: int) -> bytes:
        return _string_at(self.address + low, high - low)

    def put(self, low: int, data: bytes | bytearray) -> None:
        if isinstance(data, bytearray):
            data = bytes(data)
        ctypes.memmove(self.address + low, data, len(data))

    def use_again(self, agent: Agent) -> None:
        """The allocator hands the freed block out on the stream of `agent`.

        Who comes after what is written there next also comes after the reads that are ordered before that.
        """
        self.generation += 1
        if self.reads:
            self.reads = [r for r in self.reads if not agent.sees(r.agent, r.epoch)]
        if self.nbytes >= _LARGE and all(agent.sees(w.agent, w.epoch) for w in self.writes):
            for write in self.writes[:-1]:
                self._forget(write)
            del self.writes[:-1]

    def refill(self, address: int, count: int) -> None:
        """Copy `count` bytes from `address` to the block's beginning, and remember what was there."""
        self.stash = self.bytes_at(0, count) if self.writes or self.reads else None
        ctypes.memmove(self.address, address, count)

    def view(self, low: int, high: int, visible: Callable[[Write], bool], dtype: torch.dtype) -> bytes:
        """Bytes [low, high) as they are for somebody who knows only of the `visible` writes, and reads them
        as numbers of `dtype`.
        """
        image = bytearray(self.bytes_at(low, high))
        if self.host:
            for write in self.writes:
                if visible(write):
                    write.lay(image, low, self.landing[write])
            return bytes(image)
        afters = self._unwind(image, low, 0, dtype)
        for write, after in zip(self.writes, afters, strict=True):
            if after is not None and visible(write):
                write.lay(image, low, after)
        return bytes(image)

    def _unwind(self, image: bytearray, low: int, position: int, dtype: Any = None) -> list[bytes | None]:
        """Take the writes from `position` on back in `image`; the bytes that each had left there."""
        high = low + len(image)
        afters: list[bytes | None] = []
        for write in reversed(self.writes[position:]):
            a, b = max(low, write.low), min(high, write.high)
            if a >= b:
                afters.append(None)
                continue
            whole = bytearray(write.high - write.low)
            whole[a - write.low : b - write.low] = image[a - low : b - low]
            afters.append(bytes(whole))
            write.lay(image, low, write.was(dtype))
        afters.reverse()
        return afters

    def left(self, write: Write) -> bytes:
        """The bytes that `write` left."""
        if self.host:
            return self.landing[write]
        image = bytearray(self.bytes_at(write.low, write.high))
        afters = self._unwind(image, write.low, self.writes.index(write))
        return afters[0]

    def part(self, seen: Callable[[Write], bool]) -> int:
        """Where a write stands to which the `seen` ones are in the past. Others that stand before it and
        share no byte with them are put behind it.
        """
        count = len(self.writes)
        while count and not seen(self.writes[count - 1]):
            count -= 1
        stay: list[Write] = []
        moved: list[Write] = []
        for write in reversed(self.writes[:count]):
            free = not seen(write) and not any(regions.overlap(write.access, w.access) for w in stay)
            (moved if free else stay).append(write)
        self.writes[:count] = [*reversed(stay), *reversed(moved)]
        return len(stay)

    def place(self, write: Write, after: bytes, position: int) -> None:
        """Insert `write`, which leaves the bytes `after`, at `position` of the location order."""
        self._again(position, insert=(write, after))

    def replace(self, write: Write, after: bytes) -> bool:
        """The bytes that `write` leaves are `after`; False if they were that already."""
        if self.host:
            changed = self.landing[write] != after
            self.landing[write] = after
            return changed
        return self._again(self.writes.index(write), replaced=(write, after))

    def _again(self, position: int, insert: Any = None, replaced: Any = None) -> bool:
        later = self.writes[position:]
        spans = [*later, insert[0]] if insert else later
        low, high = min(w.low for w in spans), max(w.high for w in spans)
        image = bytearray(self.bytes_at(low, high))
        afters = self._unwind(image, low, position)
        changed = False
        if insert:
            write, after = insert
            write.before = bytes(image[write.low - low : write.high - low])
            write.lay(image, low, after)
            self.writes.insert(position, write)
        for write, after in zip(later, afters, strict=True):
            if replaced and write is replaced[0]:
                changed = after != replaced[1]
                after = replaced[1]
            else:
                write.before = bytes(image[write.low - low : write.high - low])
            write.lay(image, low, after)
        self.put(low, image)
        return changed

    # ------------------------------------------------------------------ records

    def land_all(self) -> None:
        """Put what is still to be downloaded into the host's memory."""
        for write in self.writes if self.host else ():
            if write.access.storage() is not None:
                image = bytearray(self.bytes_at(write.low, write.high))
                write.lay(image, write.low, self.landing[write])
                self.put(write.low, image)

    def settle(self) -> None:
        """Everybody agrees on the contents: nothing of the past is needed any more."""
        for write in self.writes:
            write.let_go()
        self.writes.clear()
        self.reads.clear()
        self.landing.clear()
        del self.storages[1:]
        if not self.freed:
            self.storages.clear()
        self.listed = self.read_since = False
        self.limit = self.most // 2

    def continues(self, agent: Agent, access: Any) -> bool:
        """Can nobody tell a write of `agent` from the last one that there is, which covers it?"""
        last = self.writes[-1] if self.writes else None
        return (
            last is not None
            and last.agent is agent
            and last.epoch > agent.told
            and last.dense
            and last.ops is not None
            and not last.overtakes
            and last.low <= access.low
            and access.high <= last.high
            and not self.read_since
        )

    def wrote(self, op: Op, access: Any, before: bytes | None) -> None:
        """`op` overwrote `before` and is ordered after all writes that there are."""
        if self.continues(op.agent, access):
            last = self.writes[-1]
            last.epoch, last.line, last.number = op.epoch, op.line, op.number
            if len(last.ops) > _MOST_WRITES:
                last.ops = None
            else:
                last.ops.append(op)
            op.writes.append((self, last))
            return
        write = Write(op, access, before)
        self.writes.append(write)
        op.writes.append((self, write))
        self.read_since = False

    def prune(self, host: Agent) -> None:
        """Forget what the host knows to be over."""
        self.pruned = host.version
        writes, clock = self.writes, host.clock
        done = 0
        while done < len(writes) and clock.get(writes[done].agent.number, 0) >= writes[done].epoch:
            done += 1
        for write in writes[:done]:
            write.let_go()
        del writes[:done]
        if self.reads:
            self.reads = [r for r in self.reads if clock.get(r.agent.number, 0) < r.epoch]

    def _forget(self, write: Write) -> None:
        """Take `write` for ordered: work up to it cannot be done again here."""
        self.since = max(self.since, write.number + 1)
        write.let_go()

    def forget_until(self, write: Write) -> None:
        """Take `write` and all writes that stand before it for ordered."""
        count = self.writes.index(write) + 1
        for w in self.writes[:count]:
            self._forget(w)
        del self.writes[:count]

    def crowded(self) -> bool:
        """Are there so many records that it is worth looking which can be one?"""
        return not self.host and (len(self.writes) > self.limit or len(self.reads) > 2 * _MOST_READS)

    def compact(self, knowing: list[Any]) -> None:
        """Make writes in a row one that none of `knowing` (agents and snapshots) can tell apart."""
        kept: list[Write] = []
        for write in self.writes:
            last = kept[-1] if kept else None
            if (
                last is None
                or not (last.dense and write.dense and _same(last, write, knowing))
                or last.overtakes
                or write.overtakes
            ):
                kept.append(write)
            elif last.low <= write.low and write.high <= last.high:
                last.first = last.first if last.agent is write.agent else write.first
                last.agent, last.epoch, last.line, last.ops = write.agent, write.epoch, write.line, None
                last.number = write.number
                self._forget(write)
            elif write.low <= last.low and last.high <= write.high:
                before = bytearray(write.was())
                before[last.low - write.low : last.high - write.low] = last.was()
                write.first = last.first if last.agent is write.agent else write.first
                write.before, write.ops = bytes(before), None
                self._forget(last)
                self.since = max(self.since, write.number + 1)
                kept[-1] = write
            else:
                kept.append(write)
        for write in kept[: -self.most]:
            self._forget(write)
        self.writes = kept[-self.most :]
        self.reads = self.reads[-_MOST_READS:]
        self.limit = min(self.most, max(self.most // 2, 2 * len(self.writes)))


def _same(a: Write, b: Write, knowing: list[Any]) -> bool:
    return all(k.sees(a.agent, a.epoch) == k.sees(b.agent, b.epoch) for k in knowing)
