"""Random numbers of the device, and what can be asked of it."""

from __future__ import annotations

import threading

import torch

from .harness import D, case, meta


@case("rng/same_seed_same_values")
def same_seed_same_values():
    def draw():
        return [
            torch.rand(5, device=D),
            torch.randn(3, device=D),
            torch.randint(0, 100, (4,), device=D),
            torch.randperm(8, device=D),
            torch.bernoulli(torch.full((6,), 0.5, device=D)),
            torch.nn.functional.dropout(torch.ones(9, device=D), 0.5),
            torch.empty(3, device=D).normal_(),
            torch.empty(3, device=D).uniform_(2, 3),
        ]

    torch.manual_seed(3)
    a = draw()
    torch.manual_seed(3)
    b = draw()
    c = draw()
    return [
        [torch.equal(p, q) for p, q in zip(a, b, strict=True)],
        [torch.equal(p, q) for p, q in zip(a[:2], c[:2], strict=True)],
        [meta(p) for p in a],
        sorted(a[3].tolist()),
        bool(((a[0] >= 0) & (a[0] < 1)).all()),
    ]


@case("rng/host_and_device_generators_are_apart")
def host_and_device_generators_are_apart():
    torch.manual_seed(0)
    a = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(100, device=D)
    b = torch.rand(3)
    torch.manual_seed(0)
    c = torch.rand(3, device=D)
    torch.manual_seed(0)
    torch.rand(100)
    d = torch.rand(3, device=D)
    return [torch.equal(a, b), torch.equal(c, d), torch.equal(a, c.cpu())]


@case("rng/states")
def states():
    torch.manual_seed(11)
    st = torch.cuda.get_rng_state()
    a = torch.rand(3, device=D)
    torch.cuda.set_rng_state(st)
    b = torch.rand(3, device=D)
    with torch.random.fork_rng():
        torch.rand(50, device=D)
    c = torch.rand(3, device=D)
    torch.cuda.set_rng_state(st)
    torch.rand(3, device=D)
    d = torch.rand(3, device=D)
    return [
        torch.equal(a, b),
        torch.equal(c, d),
        str(st.dtype),
        list(st.shape),
        str(st.device),
        len(torch.cuda.get_rng_state_all()) >= 1,
    ]


@case("rng/from_a_thread")
def from_a_thread():
    box = []
    torch.manual_seed(4)
    t = threading.Thread(target=lambda: box.append(torch.rand(3, device=D)))
    t.start()
    t.join()
    torch.manual_seed(4)
    return torch.equal(box[0], torch.rand(3, device=D))


@case("query/memory_numbers")
def memory_numbers():
    free, total = torch.cuda.mem_get_info()
    return [
        0 < free <= total,
        total >= torch.cuda.get_device_properties(0).total_memory // 2,
        isinstance(free, int),
        isinstance(torch.cuda.memory_allocated(), int),
        torch.cuda.memory_allocated() <= torch.cuda.memory_reserved(),
        isinstance(torch.cuda.memory_summary(), str),
        isinstance(torch.cuda.memory_snapshot(), list),
        "allocated_bytes.all.current" in torch.cuda.memory_stats(),
        torch.cuda.memory_stats()["allocated_bytes.all.current"] == torch.cuda.memory_allocated(),
    ]
