"""Pinned buffers while a copy is on its way: every tensor over them is looked at, and only its own part."""

import copy
import io
import pickle

import pytest
import torch

import grader
from grader.simgpu import order, trace


def rows(n=4, m=5):
    """A pinned buffer of zeros and ones on the device for one row of it."""
    h, x = torch.zeros(n, m).pin_memory(), torch.ones(m, device="cuda")
    torch.cuda.synchronize()
    return h, x


def kinds(found):
    return [f.kind for f in found]


# ------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    "read",
    [
        lambda h: h.sum().item(), lambda h: h[1].sum().item(), lambda h: h.view(-1)[5].item(),
        lambda h: repr(h), lambda h: sum(float(v) for v in h[1]), lambda h: h[[0, 1]], lambda h: h[h == 0],
        lambda h: h.data.sum().item(), lambda h: h.flatten().tolist(), lambda h: f"{h[1, 2]:.1f}",
    ],
)  # fmt: skip
def test_a_row_that_comes_is_seen_through_its_buffer(read):
    h, x = rows()
    with order.collect() as found:
        h[1].copy_(x, non_blocking=True)
        read(h)
        assert kinds(found) == ["host_read_early"]
        torch.cuda.synchronize()
        read(h)
    assert len(found) == 1 and type(h) is torch.Tensor and h.sum().item() == 5


def test_a_sibling_made_before_the_copy_is_a_view_of_it_too():
    h, x = rows()
    one, others = h[1], list(h)
    with order.collect() as found:
        h[1].copy_(x, non_blocking=True)
        assert others[1].sum().item() == 0.0
        assert len(found) == 1
        assert one.sum().item() == 0.0
    assert set(kinds(found)) == {"host_read_early"} and len(found) == 2
    torch.cuda.synchronize()
    assert others[1].sum().item() == 5.0 and type(one) is torch.Tensor


@pytest.mark.parametrize("target", [
    lambda: torch.zeros(5), lambda: torch.zeros(5).pin_memory(), lambda: torch.zeros(2, 5)[0],
    lambda: torch.zeros(5, dtype=torch.float64),
])  # fmt: skip
def test_a_copy_from_host_to_host_takes_what_is_there(target):
    h, x = rows()
    o = target()
    with order.collect() as found:
        h[1].copy_(x, non_blocking=True)
        o.copy_(h[1])
    assert o.sum().item() == 0.0 and kinds(found) == ["host_read_early"]


def test_work_of_two_streams_guards_a_buffer_until_both_are_over():
    h, x = rows()
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(a):
        h[0].copy_(x, non_blocking=True)
    with torch.cuda.stream(b):
        h[1].copy_(x, non_blocking=True)
    with order.collect() as found:
        b.synchronize()
        assert h[1].sum().item() == 5.0 and not found
        assert h[0].sum().item() == 0.0
    assert kinds(found) == ["host_read_early"]


@pytest.mark.parametrize("change, total", [
    (lambda h: h.fill_(7), 140.0), (lambda h: h.__setitem__(slice(3, 5), 7.0), 32.0),
    (lambda h: torch.add(h, 1, out=h), 40.0), (lambda h: h.data.__setitem__(0, 100.0), 119.0),
    (lambda h: torch._foreach_mul_([h], 7), 140.0), (lambda h: h.copy_(torch.full((20,), 7.0)), 140.0),
    (lambda h: h[:10].zero_(), 10.0), (lambda h: h.__setitem__([0, 1], 0.0), 18.0),
])  # fmt: skip
def test_what_the_host_writes_under_an_upload_arrives(change, total):
    h = torch.ones(20).pin_memory()
    with order.collect() as found:
        d = h.to("cuda", non_blocking=True)
        change(h)
        assert d.sum().item() == total
    assert kinds(found) == ["host_write_early"]


def test_a_view_made_before_writes_under_an_upload():
    h = torch.ones(20).pin_memory()
    half = h[:10]
    with order.collect() as found:
        d = h.to("cuda", non_blocking=True)
        half.fill_(7)
        assert d.sum().item() == 80.0
    assert kinds(found) == ["host_write_early"]


@pytest.mark.parametrize(
    "ask", [lambda d: d.sum().item(), lambda d: sum(d.tolist()), lambda d: d.cpu().sum()]
)
def test_what_numpy_writes_under_an_upload_is_in_the_next_result(ask):
    h = torch.ones(4).pin_memory()
    with order.collect() as found:
        d = h.to("cuda", non_blocking=True)
        h.numpy()[:2] = 7
        assert ask(d) == 16.0
    assert kinds(found) == ["host_write_early"]


def test_a_number_that_comes_is_read_when_a_kernel_is_launched_with_it():
    h, x = torch.zeros(()).pin_memory(), torch.ones(3, device="cuda")
    torch.cuda.synchronize()
    with order.collect() as found:
        h.copy_(x[0], non_blocking=True)
        assert (x * h).sum().item() == 0.0
    assert kinds(found) == ["host_read_early"]


def test_an_upload_that_converts_first_reads_early():
    h, x = rows()
    with order.collect() as found:
        h[1].copy_(x, non_blocking=True)
        assert h.to("cuda", torch.float64).sum().item() == 0.0
    assert kinds(found) == ["host_read_early"]


# ------------------------------------------------------------------ right programs


@pytest.mark.parametrize("up", [
    lambda h: h.to("cuda"), lambda h: torch.zeros(5, device="cuda").copy_(h),
    lambda h: h.to("cuda", non_blocking=True),
])  # fmt: skip
def test_uploads_of_what_comes_on_the_same_stream_are_in_order(up):
    h, x = rows()
    with order.collect() as found:
        h[1].copy_(x, non_blocking=True)
        assert up(h[1]).sum().item() == 5.0
    assert not found


def test_other_parts_of_the_buffer_are_the_hosts():
    h, x = rows()
    last = h[3]
    with order.collect() as found:
        for i in range(2):
            h[i].copy_(x, non_blocking=True)
        h[2] = 3.0
        h[[2, 3]] = 4.0
        last.add_(1)
        assert h[2:].sum().item() == 45.0 and h[torch.tensor([2, 3])].sum().item() == 45.0
        assert h.numpy()[2].sum() == 20.0
        torch.zeros_like(h), h.new_empty(3), len(h), h.shape, h.T, h.unbind(), list(h), h.reshape(-1)
        torch.cuda.synchronize()
    assert not found and h[:2].sum().item() == 10.0


def test_a_ring_of_slots_that_waits_for_its_slot_is_right():
    ring, done = torch.zeros(3, 8).pin_memory(), [torch.cuda.Event() for _ in range(3)]
    s, sums = torch.cuda.Stream(), []
    with order.collect() as found:
        for i in range(9):
            done[i % 3].synchronize()
            ring[i % 3] = float(i)
            with torch.cuda.stream(s):
                sums.append(ring[i % 3].to("cuda", non_blocking=True).sum())
                done[i % 3].record()
        s.synchronize()
        assert [t.item() for t in sums] == [8.0 * i for i in range(9)]
    assert not found


def test_a_buffer_may_be_read_while_it_is_uploaded():
    h = torch.ones(20).pin_memory()
    with order.collect() as found:
        d = h.to("cuda", non_blocking=True)
        assert (h + 1).sum().item() == 40.0 and h[3:].sum().item() == 17.0
        torch.zeros(20).copy_(h)
        assert d.sum().item() == 20.0
    assert not found


# ------------------------------------------------------------------ still a tensor


def test_a_second_upload_is_one_copy():
    h = torch.ones(20).pin_memory()
    for _ in range(3):
        with trace.recording() as recorded:
            h.to("cuda", non_blocking=True)
            h.cuda(non_blocking=True)
        assert sum(isinstance(e, trace.Copy) for e in recorded.events) == 2


def test_a_timeline_shows_an_upload_of_a_buffer_once():
    h = torch.ones(20).pin_memory()
    h.to("cuda", non_blocking=True)
    shown = grader.timeline(lambda: h.to("cuda", non_blocking=True))
    assert str(shown).count("the default stream") == 1


@pytest.mark.parametrize("flies", [False, True])
def test_pinned_tensors_can_be_copied_saved_and_shown(flies):
    h = torch.ones(3).pin_memory()
    if flies:
        h.to("cuda", non_blocking=True)
    buffer = io.BytesIO()
    torch.save(h, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(h), copy.copy(h), pickle.loads(pickle.dumps(h)), torch.load(buffer)):
        assert type(other) is torch.Tensor and other.tolist() == [1.0] * 3
    assert not copy.deepcopy(h).is_pinned()  # as PyTorch's
    assert repr(h) == "tensor([1., 1., 1.])"
    assert h.untyped_storage().clone().nbytes() == 12


def test_saving_what_has_not_arrived_is_reading_it():
    h, x = rows()
    with order.collect() as found:
        h[1].copy_(x, non_blocking=True)
        assert copy.deepcopy(h).sum().item() == 0.0
    assert kinds(found) == ["host_read_early"]
