"""Pinned memory: what the host sees while copies are on their way, and what it may do meanwhile."""

import gc

import torch

from grader.simgpu import order


def pair(n=4):
    x = torch.ones(n, device="cuda")
    h = torch.zeros(n).pin_memory()
    torch.cuda.synchronize()
    return x, h


def test_a_numpy_view_made_before_sees_old_contents_and_then_new_ones():
    x, h = pair()
    a = h.numpy()
    with order.collect() as found:
        h.copy_(x, non_blocking=True)
        assert a.tolist() == [0.0] * 4
        torch.cuda.synchronize()
    assert a.tolist() == [1.0] * 4
    assert not found


def test_a_numpy_view_made_early_and_read_after_the_wait_is_no_mistake():
    x, h = pair()
    with order.collect() as found:
        h.copy_(x, non_blocking=True)
        a = h.numpy()
        torch.cuda.synchronize()
        assert a.tolist() == [1.0] * 4
    assert not found


def test_a_numpy_view_that_does_not_live_until_the_wait_was_read_early():
    x, h = pair()
    with order.collect() as found:
        h.copy_(x, non_blocking=True)
        first = float(h.numpy()[0])
        gc.collect()
        torch.cuda.synchronize()
    assert first == 0.0
    assert [f.kind for f in found] == ["host_read_early"]
    assert found[0].second.text == "first = float(h.numpy()[0])"


def test_only_what_was_waited_for_lands():
    x, h = pair()
    g, s = torch.zeros(4).pin_memory(), torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    h.copy_(x, non_blocking=True)
    with torch.cuda.stream(s):
        g.copy_(x, non_blocking=True)
    s.synchronize()
    with order.collect() as found:
        assert g.tolist() == [1.0] * 4
        assert not found
        assert h.tolist() == [0.0] * 4
    assert len(found) == 1
    torch.cuda.synchronize()
    assert h.tolist() == [1.0] * 4


def test_half_a_buffer_is_half_a_buffer():
    x, h = pair(8)
    with order.collect() as found:
        h[:4].copy_(x[:4], non_blocking=True)
        h[4:].fill_(5)
        torch.cuda.synchronize()
    assert not found
    assert h.tolist() == [1.0] * 4 + [5.0] * 4


def test_an_upload_sees_the_download_before_it_on_its_stream():
    x, h = pair()
    with order.collect() as found:
        h.copy_(x * 3, non_blocking=True)
        y = h.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
    assert not found
    assert y.tolist() == h.tolist() == [3.0] * 4


def test_a_write_under_a_download_is_lost_and_found():
    x, h = pair()
    with order.collect() as found:
        h.copy_(x, non_blocking=True)
        h.numpy()[:] = 7
        torch.cuda.synchronize()
    assert h.tolist() == [1.0] * 4
    assert {f.kind for f in found} == {"host_write_early"}


def test_a_numpy_write_names_the_copy_and_the_wait_that_found_it():
    h = torch.ones(4).pin_memory()
    with order.collect() as found:
        x = h.to("cuda", non_blocking=True)
        h.numpy()[2] = 5
        torch.cuda.synchronize()
    (finding,) = found
    assert x.tolist() == [1.0, 1.0, 5.0, 1.0]
    assert finding.first.text == 'x = h.to("cuda", non_blocking=True)'
    assert finding.second.text == "torch.cuda.synchronize()"
    assert "h was changed on the host" in finding.text


def test_a_pinned_buffer_may_die_with_its_download_on_the_way():
    x, h = pair()
    h.copy_(x, non_blocking=True)
    del h
    torch.cuda.synchronize()
    assert x.tolist() == [1.0] * 4


def test_an_upload_of_a_buffer_that_dies_is_whole():
    x = torch.ones(4).pin_memory().to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    assert x.tolist() == [1.0] * 4
