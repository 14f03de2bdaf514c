"""The caching allocator: whose block is used again, and when."""

from __future__ import annotations

import gc
from functools import partial

import torch

from . import harness
from .harness import D, E, J
from .racing import BIG, current, full, nap, nothing_cached, on, pinned, settled, sync, values

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


def used():
    return torch.cuda.memory_allocated()


def reserved():
    return torch.cuda.memory_reserved()


@pair("alloc/freed_while_another_stream_reads", racy=[[9.0], [9.0]], mended=[[1.0], [9.0]])
def freed_while_another_stream_reads(mended):
    s = torch.cuda.Stream()

    def run():
        nothing_cached()
        a, o = full(1.0, BIG), full(0.0, BIG)
        s.wait_stream(current())
        with on(s):
            nap()
            o.copy_(a)
        if mended:
            a.record_stream(s)
        del a
        b = full(9.0, BIG)
        sync()
        return [values(o), values(b)]

    return settled(run)


@pair("alloc/the_creating_stream_waits_instead", racy=[[9.0], [9.0]], mended=[[1.0], [9.0]])
def the_creating_stream_waits_instead(mended):
    s = torch.cuda.Stream()

    def run():
        nothing_cached()
        a, o = full(1.0, BIG), full(0.0, BIG)
        s.wait_stream(current())
        with on(s):
            nap()
            torch.mul(a, 1, out=o)
        if mended:
            current().wait_stream(s)
        del a
        b = full(9.0, BIG)
        sync()
        return [values(o), values(b)]

    return settled(run)


@pair("alloc/freed_while_another_stream_writes", racy=[5.0], mended=[2.0])
def freed_while_another_stream_writes(mended):
    s = torch.cuda.Stream()

    def run():
        nothing_cached()
        a = torch.empty(BIG, device=D)
        sync()
        with on(s):
            nap()
            a.fill_(5)
        if mended:
            a.record_stream(s)
        del a
        b = full(2.0, BIG)
        sync()
        return values(b)

    return settled(run)


@pair("alloc/input_of_a_jitted_kernel_dies", racy=[65.0], mended=[10.0])
def input_of_a_jitted_kernel_dies(mended):
    f, s = J("template <typename T> T f(T x) { return x * x + T(1); }"), torch.cuda.Stream()

    def run():
        nothing_cached()
        a = full(3.0, BIG)
        s.wait_stream(current())
        with on(s):
            block = f(a)  # the result takes this block again: nothing is allocated while the device is busy
            del block
            sync()
            nap()
            out = f(a)
        if mended:
            a.record_stream(s)
        del a
        b = full(8.0, BIG)
        sync()
        return values(out) + values(b)[:0]

    return settled(run)


@case("alloc/made_and_used_on_one_side_stream", expect=[[1.0], [9.0], True])
def made_and_used_on_one_side_stream():
    s = torch.cuda.Stream()

    def run():
        nothing_cached()
        with on(s):
            a, o = full(1.0, BIG), full(0.0, BIG)
            nap()
            o.copy_(a)
            address = a.data_ptr()
            del a
            b = full(9.0, BIG)
        sync()
        return [values(o), values(b), b.data_ptr() == address]

    return settled(run)


@case("alloc/the_same_block_again", expect=[True, True, False])
def the_same_block_again():
    s = torch.cuda.Stream()
    nothing_cached()
    a = torch.empty(BIG, device=D)
    address = a.data_ptr()
    del a
    b = torch.empty(BIG, device=D)
    again = b.data_ptr() == address
    del b
    c = torch.empty(BIG // 2, 2, dtype=torch.int32, device=D)
    other_type = c.data_ptr() == address
    del c
    with on(s):
        d = torch.empty(BIG, device=D)
    return [again, other_type, d.data_ptr() == address]


@case("alloc/held_back_until_the_recorded_stream_is_done", expect=[False, True])
def held_back_until_the_recorded_stream_is_done():
    s, t = torch.cuda.Stream(), torch.cuda.Stream()

    def run():
        nothing_cached()
        a = torch.empty(BIG, device=D)
        address = a.data_ptr()
        a.record_stream(s)
        a.record_stream(t)
        with on(t):
            nap()
        del a
        b = torch.empty(BIG, device=D)
        early = b.data_ptr() == address
        sync()
        c = torch.empty(BIG, device=D)
        return [early, c.data_ptr() == address]

    return settled(run)


@case("alloc/a_view_keeps_the_block", expect=[True, True, False])
def a_view_keeps_the_block():
    nothing_cached()
    before = used()
    a = torch.empty(BIG, device=D)
    row = a[5:8]
    whole = used() - before
    del a
    kept = used() - before == whole
    b = torch.empty(BIG, device=D)
    apart = b.data_ptr() != row.data_ptr() - 5 * 4
    del row, b
    return [kept, apart, used() - before == whole]


@case("alloc/sizes_are_rounded_to_512_bytes", expect=[512, 512, 512, 1024, 0, 1024, 4096])
def sizes_are_rounded_to_512_bytes():
    gc.collect()
    sizes = []
    for n in (1, 511, 512, 513, 0, 1000, 4096):
        before = used()
        x = torch.empty(n, dtype=torch.uint8, device=D)
        sizes.append(used() - before)
        del x
    return sizes


@case("alloc/a_large_block_is_reserved_and_given_back", expect=[12_582_912, 12_582_912, 0, True])
def a_large_block_is_reserved_and_given_back():
    nothing_cached()
    before = reserved()
    a = torch.empty(BIG, device=D)
    with_it = reserved() - before
    del a
    cached = reserved() - before
    torch.cuda.empty_cache()
    return [with_it, cached, reserved() - before, reserved() >= used()]


@case("alloc/the_highest_mark", expect=[3, 1, True])
def the_highest_mark():
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before, size = used(), 4 << 20
    x = torch.zeros(size // 4, device=D)
    y = x + 1
    z = y * 2
    del x, y
    peak = torch.cuda.max_memory_allocated() - before
    now = used() - before
    torch.cuda.reset_peak_memory_stats()
    return [peak // size, now // size, torch.cuda.max_memory_allocated() == used() and z.numel() > 0]


@case(
    "alloc/more_than_there_is",
    expect=["OutOfMemoryError", True, "CUDA out of memory. Tried to allocate 1048576.00 GiB.", [1.0, 1.0]],
)
def more_than_there_is():
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device=D)
    except RuntimeError as e:
        found = [type(e).__name__, isinstance(e, torch.cuda.OutOfMemoryError), str(e).split(" GPU")[0]]
    return [*found, torch.ones(2, device=D).tolist()]


@case("alloc/storage_shrunk_to_nothing", expect=[True, 0, [3]])
def storage_shrunk_to_nothing():
    gc.collect()
    before = used()
    x = torch.empty(BIG, device=D)
    grown = used() > before
    x.untyped_storage().resize_(0)
    left = used() - before
    y = torch.ones(3, device=D)
    return [grown, left, list(y.shape)]


@case("alloc/pinned_memory_waits_for_its_copy", expect=[[1.0], False])
def pinned_memory_waits_for_its_copy():
    def run():
        a, h = full(0.0), pinned(1.0)
        address = h.data_ptr()
        sync()
        nap()
        a.copy_(h, non_blocking=True)
        del h
        g = pinned(9.0)
        same = g.data_ptr() == address
        sync()
        return [values(a), same]

    return settled(run)


@case("alloc/arguments_of_record_stream", expect=[None, None, "RuntimeError", "TypeError"])
def arguments_of_record_stream():
    x, s = torch.zeros(4, device=D), torch.cuda.Stream()
    wrong = [E(x.record_stream, "s").get("exc"), E(x.record_stream).get("exc")]
    return [x.record_stream(s), x[1:].record_stream(torch.Stream("cuda")), *wrong]
