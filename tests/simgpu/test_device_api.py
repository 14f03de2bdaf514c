"""torch.cuda and torch.accelerator: what can be asked of the simulated device."""

import gc

import pytest
import torch

CUDA = torch.cuda


def test_the_device_and_its_honest_name():
    assert CUDA.is_available() and CUDA.device_count() == 1 and CUDA.current_device() == 0
    assert CUDA.get_device_name() == "Simulated GPU (H200 profile)"
    assert CUDA.get_device_capability() == (9, 0)
    p = CUDA.get_device_properties("cuda:0")
    assert (p.name, p.warp_size, p.multi_processor_count) == (CUDA.get_device_name(), 32, 132)
    assert p.total_memory > 130 * 2**30 and "name='Simulated GPU" in repr(p)


def test_another_device_is_refused():
    with pytest.raises(AssertionError, match="Invalid device id"):
        CUDA.get_device_properties(1)
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        CUDA.set_device(1)
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"), CUDA.device(1):
        pass


def test_calls_that_have_nothing_to_do():
    for call in (
        CUDA.synchronize,
        CUDA.init,
        CUDA.empty_cache,
        CUDA.ipc_collect,
        torch.accelerator.synchronize,
    ):
        assert call() is None
    CUDA.set_device(0)
    with CUDA.device(0), CUDA.device_of(torch.ones(1, device="cuda")):
        assert CUDA.current_device() == 0
    assert CUDA.is_initialized() and CUDA.is_bf16_supported() and not CUDA.is_current_stream_capturing()


def test_accelerator():
    a = torch.accelerator
    assert a.is_available() and str(a.current_accelerator()) == "cuda" and a.device_count() == 1
    assert a.current_device_index() == 0


def test_streams_and_events_run_in_order():
    s = CUDA.Stream()
    start, end = CUDA.Event(enable_timing=True), CUDA.Event(enable_timing=True)
    start.record()
    with CUDA.stream(s):
        assert CUDA.current_stream() == s
        x = torch.ones(3, device="cuda") * 2
        end.record()
    assert CUDA.current_stream() == CUDA.default_stream() != s
    CUDA.current_stream().wait_stream(s)
    s.synchronize()
    x.record_stream(s)
    assert start.elapsed_time(end) >= 0 and end.query() and x.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("events", "error", "words"),
    [
        (
            lambda: (CUDA.Event(), CUDA.Event()),
            ValueError,
            "Both events must be created with argument 'enable_timing=True'",
        ),
        (
            lambda: (CUDA.Event(True), CUDA.Event(True)),
            ValueError,
            "Both events must be recorded before calculating elapsed",
        ),
        (lambda: (CUDA.Event(True), 3), RuntimeError, "expected other to be a torch.cuda.Event object"),
    ],
)
def test_elapsed_time_is_refused(events, error, words):
    a, b = events()
    with pytest.raises(error, match=words):
        a.elapsed_time(b)


def test_allocated_memory_follows_tensors_and_their_views():
    gc.collect()
    before = CUDA.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    view = x[5:]
    assert CUDA.memory_allocated() - before == 4 << 20
    del x
    assert CUDA.memory_allocated() - before == 4 << 20
    del view
    small = torch.empty(1, device="cuda")
    assert CUDA.memory_allocated() - before == 512
    del small
    assert CUDA.memory_allocated() == before


def test_peak_and_reserved_memory():
    CUDA.reset_peak_memory_stats()
    x = torch.empty(8 << 20, device="cuda")
    top = CUDA.memory_allocated()
    del x
    assert CUDA.max_memory_allocated() >= top > CUDA.memory_allocated()
    assert CUDA.memory_reserved() >= top
    CUDA.empty_cache()
    assert CUDA.memory_allocated() <= CUDA.memory_reserved() < top
    CUDA.reset_peak_memory_stats()
    assert CUDA.max_memory_allocated() == CUDA.memory_allocated()


def test_memory_reports():
    free, total = CUDA.mem_get_info()
    assert 0 < free <= total == CUDA.get_device_properties(0).total_memory
    stats = CUDA.memory_stats()
    assert stats["allocated_bytes.all.current"] == CUDA.memory_allocated()
    assert (
        stats["allocated_bytes.all.allocated"] - stats["allocated_bytes.all.freed"] == CUDA.memory_allocated()
    )
    assert "PyTorch CUDA memory summary" in CUDA.memory_summary() and CUDA.memory_snapshot() == []
