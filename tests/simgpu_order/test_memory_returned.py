"""Nothing is kept of what everybody agrees on, and little of what they do not."""

import gc
import weakref

import torch

from grader.simgpu import order
from grader.simgpu.order.state import order as the_order


def pipeline(rounds):
    streams = [torch.cuda.Stream() for _ in range(4)]
    xs = [torch.zeros(64, device="cuda") for _ in streams]
    for s in streams:
        s.wait_stream(torch.cuda.default_stream())
    for i in range(rounds):
        j = i % 4
        with torch.cuda.stream(streams[j]):
            if i % 2:
                xs[j].add_(1)
            else:
                xs[j] * 2
        if j == 3:
            streams[0].wait_event(streams[j].record_event())


def records():
    state = the_order()
    return len(state.touched), len(state.log), len(state.blocks.kept), len(state.open)


def test_after_a_device_wide_wait_nothing_is_kept():
    torch.cuda.empty_cache()
    with order.collect() as found:
        pipeline(400)
        torch.cuda.synchronize()
    assert not found
    assert records() == (0, 0, 0, 0)


def test_without_a_wait_the_records_do_not_grow_without_end():
    s = torch.cuda.Stream()
    x, y = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    sizes = []
    for i in range(3000):
        x.add_(1)
        s.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(s):
            torch.mul(x, 2, out=y)
        torch.cuda.default_stream().wait_stream(s)
        if i % 1000 == 999:
            history = x.untyped_storage()._history
            sizes.append(len(history.writes) + len(history.reads))
    torch.cuda.synchronize()
    assert max(sizes) < 300
    assert y[0].item() == 6000.0


def test_freed_memory_is_kept_up_to_a_limit():
    s = torch.cuda.Stream()
    made = []
    for _ in range(40):
        x = torch.ones(4 << 20, device="cuda")
        s.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(s):
            x * 2
        x.record_stream(s)
        made.append(weakref.ref(x.untyped_storage()))
        del x
    torch.empty(1, device="cuda").fill_(0)
    assert the_order().blocks.bytes <= 300 << 20
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    gc.collect()
    assert the_order().blocks.bytes == 0
    assert sum(r() is not None for r in made) <= 1


def test_work_without_streams_keeps_nothing():
    torch.cuda.empty_cache()
    x = torch.ones(4, device="cuda")
    for _ in range(10):
        x = x * 2
    assert records() == (0, 0, 0, 0)
