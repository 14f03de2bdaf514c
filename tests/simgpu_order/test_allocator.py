"""The caching allocator's blocks: used again in their stream's order, held back by record_stream."""

import pytest
import torch

from grader.simgpu import memory, order

SIZES = pytest.mark.parametrize("n", [16, 5_000_000])


@SIZES
def test_a_freed_block_with_business_serves_the_next_request_of_its_size(n):
    s = torch.cuda.Stream()
    x = torch.ones(n, device="cuda")
    at = x.data_ptr()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        y = x * 2
    torch.cuda.current_stream().wait_stream(s)
    del x
    z = torch.full((n,), 3.0, device="cuda")
    assert z.data_ptr() == at
    assert (y[0].item(), z[0].item()) == (2.0, 3.0)


@SIZES
def test_record_stream_holds_a_block_back_until_the_host_has_waited(n):
    torch.cuda.empty_cache()
    s = torch.cuda.Stream()
    x = torch.empty(n, device="cuda")
    at = x.data_ptr()
    with torch.cuda.stream(s):
        torch.cuda._sleep(1000)
    x.record_stream(s)
    del x
    y = torch.empty(n, device="cuda")
    assert y.data_ptr() != at
    if n > 1_000_000:
        torch.cuda.synchronize()
        assert torch.empty(n, device="cuda").data_ptr() == at


def test_another_stream_does_not_get_the_block():
    s = torch.cuda.Stream()
    x = torch.ones(16, device="cuda")
    at = x.data_ptr()
    kept = x + 1
    del x
    with torch.cuda.stream(s):
        y = torch.ones(16, device="cuda")
    assert y.data_ptr() != at
    torch.cuda.synchronize()
    assert kept.sum().item() == 32.0


def test_figures_count_live_tensors_only():
    s = torch.cuda.Stream()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    x = torch.ones(1 << 20, device="cuda")
    with torch.cuda.stream(s):
        s.wait_stream(torch.cuda.default_stream())
        y = x + 1
    x.record_stream(s)
    del x
    z = torch.ones(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() - before == 8 << 20
    assert torch.cuda.max_memory_allocated() - before == 8 << 20
    torch.cuda.synchronize()
    del y, z
    assert torch.cuda.memory_allocated() == before


def test_raw_allocations_are_counted_and_deleted_once():
    before = torch.cuda.memory_allocated()
    pointer = torch.cuda.caching_allocator_alloc(1000)
    assert torch.cuda.memory_allocated() - before == 1024
    assert memory.storage_at(pointer + 999) is memory.storage_at(pointer)
    torch.cuda.caching_allocator_delete(pointer)
    assert torch.cuda.memory_allocated() == before
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        torch.cuda.caching_allocator_delete(pointer)


def test_storages_are_found_by_addresses_inside_them():
    x, y = torch.zeros(100, device="cuda"), torch.zeros(100, device="cuda")
    for t in (x, y):
        assert memory.storage_at(t[50:].data_ptr()).data_ptr() == t.data_ptr()
    assert memory.storage_at(16) is None
    at = x.data_ptr()
    torch.cuda.synchronize()
    del x
    found = memory.storage_at(at)
    assert found is None or found.data_ptr() != at


def test_a_tensor_in_a_block_used_again_is_as_any_other():
    s = torch.cuda.Stream()
    x = torch.ones(16, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        y = x * 2
    torch.cuda.default_stream().wait_stream(s)
    del x
    w = torch.full((16,), 3.0, device="cuda").requires_grad_()
    (w * w).sum().backward()
    assert w.grad.tolist() == [6.0] * 16
    assert torch.equal(w.detach().clone(), w.detach())
    assert w.untyped_storage().nbytes() == 64
    assert y.sum().item() == 32.0


def test_empty_memory_that_another_stream_writes_first_is_no_mistake():
    s = torch.cuda.Stream()
    with order.collect() as found:
        made = [
            torch.empty(8, device="cuda"),
            torch.empty_like(torch.ones(8, device="cuda")),
            torch.ones(1, device="cuda").new_empty(8),
        ]
        with torch.cuda.stream(s):
            for t in made:
                t.fill_(1)
        s.synchronize()
        assert [t.sum().item() for t in made] == [8.0] * 3
    assert not found


@SIZES
def test_another_stream_may_not_write_before_the_blocks_former_use_is_over(n):
    s = torch.cuda.Stream()
    x = torch.empty(n, device="cuda")
    torch.cuda.synchronize()
    x.fill_(3)
    del x
    y = torch.empty(n, device="cuda")
    with order.collect() as found, torch.cuda.stream(s):
        y.fill_(7)
    torch.cuda.synchronize()
    assert [f.kind for f in found] == ["two_writes"]
    assert y[0].item() == 3.0
