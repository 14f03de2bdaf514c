"""Copies between host and device: ways to ask for one, what is pinned, types and shapes."""

from __future__ import annotations

import threading
from functools import partial

import torch

from . import harness
from .harness import D, F, T
from .racing import current, default, full, nap, on, pinned, settled, sync, values

case, pair = partial(harness.case, recorded=False), partial(harness.pair, recorded=False)


@case("copies/ways_to_say_non_blocking", expect=[True] * 4)
def ways_to_say_non_blocking():
    def run():
        h, a = pinned(2.0), full(0.0)
        ways = (
            lambda: h.to(D, non_blocking=True),
            lambda: h.cuda(non_blocking=True),
            lambda: a.copy_(h, True),
            lambda: torch.empty_like(a).copy_(h, non_blocking=True),
        )
        right = []
        for way in ways:
            sync()
            nap()
            x = way()
            queued = not current().query()
            sync()
            right.append(queued and values(x) == [2.0])
        return right

    return settled(run)


@case("copies/what_comes_back_pinned", expect=[True, False, False, True, True, False])
def what_comes_back_pinned():
    x = F(1000)
    free, blocking = x.to("cpu", non_blocking=True), x.to("cpu")
    sync()
    return [
        free.is_pinned(),
        blocking.is_pinned(),
        x.cpu().is_pinned(),
        torch.empty(3, pin_memory=True).is_pinned(),
        pinned(1.0, 3).view(3, 1).is_pinned(),
        pinned(1.0, 3).clone().is_pinned(),
    ]


@case(
    "copies/types_change_on_the_way",
    expect=[[1, -1, 2], [1.5, -1.5, 2.25], [True, True, False], [1.0, 255.0], True],
)
def types_change_on_the_way():
    x = T([1.5, -1.5, 2.25])
    ints = torch.zeros(3, dtype=torch.int32).copy_(x)
    doubles = x.to("cpu", torch.float64)
    flags = torch.zeros(3, dtype=torch.bool).copy_(T([2.0, -1.0, 0.0]))
    up = torch.zeros(2, device=D).copy_(torch.tensor([1, 255], dtype=torch.uint8))
    half = torch.tensor([1.0, 2.0]).to(D, torch.float16)
    return [ints.tolist(), doubles.tolist(), flags.tolist(), up.tolist(), half.dtype == torch.float16]


@case(
    "copies/pieces_of_pinned_memory",
    expect=[[0.0, 1.0, 2.0, -1.0, -1.0, -1.0], [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]],
)
def pieces_of_pinned_memory():
    h = pinned(-1.0, 6)
    h[:3].copy_(F(3), non_blocking=True)
    sync()
    first = h.tolist()
    h.view(3, 2).copy_(F(6).view(2, 3).t(), non_blocking=True)
    sync()
    return [first, h.view(3, 2).tolist()]


@case("copies/empty_scalar_and_broadcast", expect=[[], 4.0, [[1.0, 2.0], [1.0, 2.0]], [5.0, 5.0]])
def empty_scalar_and_broadcast():
    nothing = torch.empty(0).to(D).cpu()
    scalar = torch.zeros((), device=D).copy_(torch.tensor(4.0).pin_memory(), non_blocking=True)
    rows = torch.zeros(2, 2, device=D).copy_(torch.tensor([1.0, 2.0]))
    same = torch.zeros(2).copy_(torch.tensor(5.0, device=D))
    return [nothing.tolist(), scalar.item(), rows.tolist(), same.tolist()]


@case("copies/batches_of_a_loader", expect=[[True, True, True], [[0.0, 1.0], [2.0, 3.0], [4.0]]])
def batches_of_a_loader():
    data = torch.utils.data.TensorDataset(torch.arange(5.0))
    batches = [b for (b,) in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True)]
    return [[b.is_pinned() for b in batches], [b.to(D, non_blocking=True).tolist() for b in batches]]


@case("copies/each_thread_copies_on_its_own_stream", expect=[[1.0], [2.0], True])
def each_thread_copies_on_its_own_stream():
    streams, targets = [torch.cuda.Stream() for _ in range(2)], [full(0.0), full(0.0)]
    sync()

    def upload(i):
        with on(streams[i]):
            targets[i].copy_(pinned(i + 1.0), non_blocking=True)
            streams[i].synchronize()

    threads = [threading.Thread(target=upload, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [*(values(t) for t in targets), current() == default()]
