import warnings

import numpy as np
import pytest
import torch

from grader import simgpu

CUDA = torch.cuda
NAP = 10_000_000
WORDS = "called a synchronizing CUDA operation"


def device(values, **kw):
    return torch.tensor(values, device="cuda", **kw)


def pinned():
    return torch.ones(4).pin_memory()


# What makes the host wait for the current stream: x is [1, 2, 3, 4] on the device.
WAITS = {
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "bool": lambda x: bool(x[0] > 0),
    "float": lambda x: float(x[1]),
    "int": lambda x: int(x[1]),
    "index": lambda x: [0, 1, 2][x[1].long()],
    "format": lambda x: f"{x[0]:.1f}",
    "repr": lambda x: repr(x),
    "in": lambda x: 3.0 in x,
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x),
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "numpy": lambda x: x.numpy(force=True),
    "copy_ to the host": lambda x: torch.zeros(4).copy_(x),
    "copy_ to pinned memory": lambda x: pinned().copy_(x),
    "copy_ from the host": lambda x: torch.zeros_like(x).copy_(torch.ones(4)),
    "cuda": lambda x: torch.ones(4).cuda(),
    "cuda of pinned memory": lambda x: pinned().cuda(),
    "tensor": lambda x: device([1.0]),
    "as_tensor": lambda x: torch.as_tensor(np.ones(2), device="cuda"),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 2],
    "mask assigned": lambda x: x.__setitem__(x > 2, device(0.0)),
    "masked_select": lambda x: x.masked_select(x > 2),
    "unique": lambda x: x.unique(),
    "where": lambda x: torch.where(x > 2),
    "stream": lambda x: CUDA.current_stream().synchronize(),
}
# What does not, though it looks as if it might.
GOES_ON = {
    "arithmetic": lambda x: (x * 2 + 1).relu_(),
    "reduction": lambda x: x.sum(),
    "fill": lambda x: x.fill_(3),
    "zeros": lambda x: torch.zeros(4, device="cuda"),
    "arange": lambda x: torch.arange(4, device="cuda"),
    "random": lambda x: torch.rand(4, device="cuda"),
    "clone": lambda x: x.clone(),
    "device to device": lambda x: torch.empty_like(x).copy_(x),
    "where with values": lambda x: torch.where(x > 2, x, 0),
    "masked_fill": lambda x: x.masked_fill(x > 2, 0.0),
    "gather": lambda x: x[torch.zeros(2, dtype=torch.int64, device="cuda")],
    "pinned upload": lambda x: pinned().to("cuda", non_blocking=True),
    "mask and a number": lambda x: x.__setitem__(x > 2, 0.0),
    "pinned download": lambda x: x.to("cpu", non_blocking=True),
    "shape": lambda x: (x.shape, x.dtype, x.device, len(x), x.data_ptr(), x.is_contiguous()),
    "a number from the host": lambda x: x + torch.tensor(2.0),
}


@pytest.mark.parametrize("call", WAITS.values(), ids=WAITS)
def test_the_host_waits_for_the_current_stream_only(call, side):
    x = device([1.0, 2.0, 3.0, 4.0])
    here = CUDA.Stream()
    here.wait_stream(CUDA.current_stream())
    with CUDA.stream(side):
        CUDA._sleep(100 * NAP)
    with CUDA.stream(here):
        CUDA._sleep(NAP)
        call(x)
        assert here.query() and not side.query()


@pytest.mark.parametrize("call", GOES_ON.values(), ids=GOES_ON)
def test_the_host_goes_on(call):
    x = device([1.0, 2.0, 3.0, 4.0])
    CUDA._sleep(NAP)
    kept = call(x)
    assert not CUDA.current_stream().query()
    CUDA.synchronize()
    del kept


@pytest.mark.parametrize("call", WAITS.values(), ids=WAITS)
def test_debug_mode_warns_and_refuses(call):
    x = device([1.0, 2.0, 3.0, 4.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CUDA.set_sync_debug_mode("warn")
        call(x)
    ours = [w for w in caught if str(w.message) == WORDS]
    assert ours and all(w.filename == __file__ for w in ours)
    CUDA.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match=f"^{WORDS}$"):
        call(x)


@pytest.mark.parametrize("call", GOES_ON.values(), ids=GOES_ON)
def test_debug_mode_lets_pass_what_does_not_wait(call):
    x = device([1.0, 2.0, 3.0, 4.0])
    CUDA.set_sync_debug_mode("error")
    kept = call(x)
    CUDA.synchronize()  # not one of those that PyTorch warns of
    event = CUDA.Event()
    event.record()
    event.synchronize()
    assert CUDA.get_sync_debug_mode() == 2
    del kept


def test_a_download_to_pageable_memory_waits_but_is_not_warned_of():
    x, h = device([5.0]), torch.zeros(1)
    CUDA.set_sync_debug_mode("error")
    CUDA._sleep(NAP)
    h.copy_(x, non_blocking=True)
    assert h[0].item() == 5 and CUDA.current_stream().query()


def test_a_pageable_source_may_change_at_once():
    h = torch.ones(4)
    CUDA.set_sync_debug_mode("error")
    CUDA._sleep(NAP)
    x = h.to("cuda", non_blocking=True)
    h.fill_(7)
    CUDA.set_sync_debug_mode("default")
    assert x.tolist() == [1.0] * 4


def test_debug_modes_by_name_and_number():
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
        CUDA.set_sync_debug_mode("loud")
    CUDA.set_sync_debug_mode(1)
    assert CUDA.get_sync_debug_mode() == 1


@pytest.mark.parametrize("call", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("followed", [False, True])
def test_waits_are_counted(call, followed):
    x = device([1.0, 2.0, 3.0, 4.0])
    stream = CUDA.Stream() if followed else None  # while one lives, work is followed
    with simgpu.recording() as t:
        call(x)
    assert t.syncs and {s.stream for s in t.syncs} == {"the default stream"}
    del stream


def test_each_wait_is_counted_once_and_by_its_name():
    x = device([1.0, 2.0, 3.0, 4.0])
    s = CUDA.Stream()
    with simgpu.recording() as t:
        x.sum().item()
        x.tolist()
        x.cpu()
        with CUDA.stream(s):
            x.cpu()
        event = s.record_event()
        event.synchronize()
        CUDA.synchronize()
        x * 2
        x.to("cpu", non_blocking=True)
    assert [s.why for s in t.syncs] == [
        *("item", "tolist", "copy to the host", "copy to the host", "Event.synchronize"),
        "torch.cuda.synchronize",
    ]
    assert [e.stream for e in t.syncs[2:4]] == ["the default stream", t.syncs[4].stream]
    assert t.syncs[5].stream == "all streams"


def test_copies_are_counted_with_their_bytes():
    x, h = torch.ones(1000), torch.ones(1000).pin_memory()
    with simgpu.recording() as t:
        on_device = x.cuda()
        h.to("cuda", non_blocking=True)
        h.copy_(on_device, non_blocking=True)
        on_device.half().cpu()
        CUDA.synchronize()
    assert [(c.direction, c.bytes, c.pinned, c.non_blocking) for c in t.copies] == [
        ("h2d", 4000, False, False),
        ("h2d", 4000, True, True),
        ("d2h", 4000, True, True),
        ("d2h", 2000, False, False),
    ]


def test_launches_are_counted_alike_whether_work_is_followed_or_not():
    def program():
        x = torch.ones(1000, device="cuda")
        y = torch.nn.functional.gelu(x) + x[::2].sum()
        y.add_(1).mul_(x)
        torch.mm(y.view(10, 100), x.view(100, 10))
        return torch.softmax(y, 0)[:10].clone()

    with simgpu.recording() as alone:
        program()
    stream = CUDA.Stream()
    with simgpu.recording() as followed:
        program()
    assert alone.launches == followed.launches and len(alone.launches) == 9
    del stream


def test_synchronize_waits_for_every_stream(side):
    with CUDA.stream(side):
        CUDA._sleep(NAP)
    CUDA._sleep(NAP)
    CUDA.synchronize()
    assert side.query() and CUDA.current_stream().query()
