import ctypes
import threading

import pytest
import torch

CUDA = torch.cuda


def test_a_stream_looks_like_pytorchs():
    s = CUDA.Stream()
    assert type(s).__name__ == "Stream" and type(s).__module__ == "torch.cuda.streams"
    assert isinstance(s, torch.Stream) and isinstance(s, CUDA.Stream) and not isinstance(s, torch.Event)
    assert (s.device, s.device_index, s.device_type) == (torch.device("cuda", 0), 0, 1)
    assert s.cuda_stream and s.stream_id and s.query() and s.synchronize() is None
    assert s._as_parameter_.value == s.cuda_stream and isinstance(s._as_parameter_, ctypes.c_void_p)
    assert s.__cuda_stream__() == (0, s.cuda_stream)
    assert repr(s) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={s.cuda_stream:#x}>"
    assert CUDA.default_stream().cuda_stream == 0 == CUDA.default_stream().stream_id


def test_the_pool_of_each_priority_goes_round():
    for priority in (0, -1, -3):
        streams = [CUDA.Stream(priority=priority) for _ in range(33)]
        assert len(set(streams)) == 32 and streams[32] == streams[0] and streams[32] is not streams[0]
        assert {s.priority for s in streams} == {priority}
    assert CUDA.Stream(priority=-1) != CUDA.Stream(priority=-2)


def test_priorities_are_clamped():
    assert CUDA.Stream.priority_range() == (0, -3)
    assert [CUDA.Stream(priority=p).priority for p in (7, 1, 0, -3, -4, -99)] == [0, 0, 0, -3, -3, -3]


def test_a_stream_by_its_id_is_the_same_stream():
    s = CUDA.Stream(priority=-2)
    again = CUDA.Stream(stream_id=s.stream_id, device_index=0, device_type=1)
    assert again == s and hash(again) == hash(s) and again.priority == -2


def test_an_external_stream_is_the_queue_of_its_handle():
    s = CUDA.Stream(priority=-1)
    external = CUDA.ExternalStream(s.cuda_stream)
    assert external.cuda_stream == s.cuda_stream and external.priority == -1 and external != s
    assert CUDA.get_stream_from_external(s.cuda_stream).cuda_stream == s.cuda_stream
    with CUDA.stream(s):
        CUDA._sleep(10_000_000)
    assert not external.query()
    s.synchronize()
    assert external.query()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: CUDA.Stream(device="cpu"), ValueError, "Expected a cuda device, but got: cpu"),
        (lambda: CUDA.Stream(device=1), torch.AcceleratorError, "CUDA error: invalid device ordinal"),
        (lambda: torch.Stream("cuda:3"), torch.AcceleratorError, "CUDA error: invalid device ordinal"),
        (lambda: torch.Stream("gpu"), RuntimeError, "Expected one of cpu, cuda"),
        (lambda: CUDA.Stream(priority="high"), TypeError, "'str' object cannot be interpreted as an integer"),
        (lambda: CUDA.Stream().wait_stream(None), AttributeError, "has no attribute 'record_event'"),
        (lambda: CUDA.Stream().wait_event(None), AttributeError, "'NoneType' object has no attribute 'wait'"),
        (lambda: CUDA.Stream().wait_event(CUDA.Stream()), AttributeError, "wait"),
        (lambda: CUDA.Stream().wait_stream(CUDA.Event()), AttributeError, "record_event"),
        (lambda: CUDA.set_stream(3), AttributeError, "'int' object has no attribute 'stream_id'"),
        (lambda: CUDA.stream(CUDA.Stream())(lambda: 1), TypeError, "'StreamContext' object is not callable"),
        (lambda: torch.ones(1, device="cuda").record_stream(5), RuntimeError, "unknown parameter type"),
        (lambda: torch.ones(1).record_stream(CUDA.Stream()), NotImplementedError, "aten::record_stream"),
    ],
)  # fmt: skip
def test_errors_of_streams(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert type(caught.value) is error and words in str(caught.value)


def test_the_current_stream_follows_contexts():
    a, b, default = CUDA.Stream(), CUDA.Stream(), CUDA.default_stream()
    with CUDA.stream(a):
        with CUDA.stream(None):
            assert CUDA.current_stream() == a
        with pytest.raises(KeyError), CUDA.stream(b):
            assert CUDA.current_stream() == b
            raise KeyError
        assert CUDA.current_stream() == a
        with CUDA.stream(default):
            assert CUDA.current_stream() == default
    assert CUDA.current_stream() == default
    CUDA.set_stream(b)
    CUDA.set_stream(None)
    assert CUDA.current_stream() == b == CUDA.current_stream("cuda:0") == CUDA.current_stream(0)


def test_each_thread_has_its_own_current_stream():
    s, seen = CUDA.Stream(), []

    def look():
        seen.append(CUDA.current_stream())
        with CUDA.stream(CUDA.Stream()):
            seen.append(CUDA.current_stream())

    with CUDA.stream(s):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert CUDA.current_stream() == s
    assert seen[0] == CUDA.default_stream() and seen[1] not in (s, CUDA.default_stream())


def test_generic_streams_are_of_the_device():
    s = torch.Stream()
    assert s.device == torch.device("cuda", 0) and s.query() and not isinstance(s, CUDA.Stream)
    assert str(s) == f"torch.Stream device_type=cuda, device_index=0, stream_id={s.stream_id}"
    assert torch.Stream(device="cuda", priority=-1).device_type == 1
    assert torch.Stream(stream_id=s.stream_id, device_index=0, device_type=1) == s
    host = torch.Stream("cpu")
    assert host.device == torch.device("cpu") and isinstance(host, torch.Stream) and host.query()


def test_generic_streams_are_entered_by_themselves():
    s, inner = torch.Stream(), CUDA.Stream()
    with s as entered:
        assert entered is s and torch.accelerator.current_stream() == s
        assert CUDA.current_stream().stream_id == s.stream_id
        with inner, s:
            assert torch.accelerator.current_stream() == s
        with pytest.raises(ZeroDivisionError), inner:
            assert CUDA.current_stream() == inner
            raise ZeroDivisionError
        assert torch.accelerator.current_stream() == s
    assert CUDA.current_stream() == CUDA.default_stream()


def test_the_accelerators_stream_is_the_current_one():
    s = torch.Stream()
    torch.accelerator.set_stream(s)
    assert torch.accelerator.current_stream() == s and CUDA.current_stream().stream_id == s.stream_id
    assert not hasattr(torch.accelerator, "stream")
    CUDA._sleep(10_000_000)
    assert not s.query()
    torch.accelerator.synchronize()
    assert s.query()


def test_a_cpu_context_does_not_make_a_stream_current():
    s = CUDA.Stream()
    with torch.cpu.StreamContext(s):
        assert CUDA.current_stream() == CUDA.default_stream()


def test_classes_imported_before_the_simulated_gpu_still_make_streams():
    before = CUDA.streams.Stream.__mro__  # the patched ones are what learners get by any name
    assert before[0] is CUDA.Stream is CUDA.streams.Stream and CUDA.Event is CUDA.streams.Event
    assert issubclass(CUDA.ExternalStream, CUDA.Stream) and issubclass(CUDA.Stream, torch._C._CudaStreamBase)


def test_side_streams_and_the_default_stream_do_not_wait_for_each_other():
    s = CUDA.Stream()
    CUDA._sleep(10_000_000)
    with CUDA.stream(s):
        CUDA._sleep(1_000)
    s.synchronize()
    assert s.query() and not CUDA.default_stream().query()
    CUDA.synchronize()
    with CUDA.stream(s):
        CUDA._sleep(10_000_000)
    CUDA.default_stream().synchronize()
    assert not s.query()


def test_blocking_streams_and_the_default_stream_wait_for_each_other():
    from grader.simgpu import streams

    blocking = CUDA.ExternalStream(streams.new_blocking().handle)
    x = torch.zeros(4, device="cuda")
    CUDA._sleep(10_000_000)
    x.fill_(1)
    with CUDA.stream(blocking):
        x += 1
    blocking.synchronize()
    assert CUDA.default_stream().query()
    with CUDA.stream(blocking):
        CUDA._sleep(10_000_000)
        x += 1
    assert x.tolist() == [3.0] * 4
