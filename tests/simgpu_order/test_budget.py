"""A program that never makes the host wait: what is kept of its past has an end, in bytes."""

import torch

from grader.simgpu import order
from grader.simgpu.order.state import order as the_order

N = 4 << 20  # numbers, 16 MB of them


def remembered():
    """Bytes of old contents, each once, whoever holds them."""
    state = the_order()
    held = {}
    for history in state.touched.values():
        for data in (*(w.before for w in history.writes), *(r.copy for r in history.reads)):
            held[id(data)] = len(data or ())
        for data in history.landing.values():
            held[id(data)] = len(data)
    for op in state.log:
        for _, write in op.writes:
            held[id(write.before)] = len(write.before or ())
    return sum(held.values())


def test_uploads_of_one_pinned_buffer():
    h = torch.ones(N).pin_memory()
    s = torch.cuda.Stream()
    for _ in range(30):
        with torch.cuda.stream(s):
            x = h.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(s)
        x.record_stream(torch.cuda.current_stream())
        x.sum()
    assert remembered() <= 256 << 20


def test_blocks_used_again():
    b = torch.ones(N, device="cuda")
    s = torch.cuda.Stream()
    kept = []
    for _ in range(30):
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            x = b * 2
        torch.cuda.current_stream().wait_stream(s)
        kept.append(torch.empty(N, device="cuda"))
        y = x * 2
        y.add_(kept[-1])
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            kept[-1].mul_(2)
    assert remembered() <= 256 << 20


def test_downloads_that_are_never_waited_for_land_in_their_order():
    hs = [torch.zeros(N).pin_memory() for _ in range(12)]
    for i, h in enumerate(hs):
        h.copy_(torch.full((N,), float(i), device="cuda"), non_blocking=True)
    assert remembered() <= 256 << 20
    torch.cuda.synchronize()
    assert [h[5].item() for h in hs] == [float(i) for i in range(12)]


def test_pinned_buffers_that_are_gone():
    for _ in range(1000):
        torch.ones(16).pin_memory().to("cuda", non_blocking=True)
    assert len(the_order().touched) < 600


def test_what_is_kept_of_the_latest_access_still_shows_a_race():
    x = torch.zeros(64 << 20, device="cuda")  # 256 MB: more than is kept of anything else
    torch.cuda.synchronize()
    s = torch.cuda.Stream()
    with order.collect() as found:
        x.fill_(1)
        with torch.cuda.stream(s):
            y = x[:4] * 1
        torch.cuda.synchronize()
    assert y.tolist() == [0, 0, 0, 0]
    assert [f.kind for f in found] == ["read_before_write"]
