import pytest
import torch

CUDA = torch.cuda
NAP = 10_000_000


def timed():
    return CUDA.Event(enable_timing=True)


def test_elapsed_time_checks_in_pytorchs_order():
    untimed, a, b = CUDA.Event(), timed(), timed()
    with pytest.raises(RuntimeError, match=r"^expected other to be a torch\.cuda\.Event object$"):
        a.elapsed_time(3)
    with pytest.raises(
        ValueError, match=r"^Both events must be created with argument 'enable_timing=True'\.$"
    ):
        untimed.elapsed_time(a)  # nor is either recorded
    with pytest.raises(ValueError, match=r"^Both events must be recorded before calculating elapsed time\.$"):
        a.elapsed_time(b)
    a.record()
    CUDA._sleep(NAP)
    with pytest.raises(ValueError, match="must be recorded"):
        a.elapsed_time(b)
    b.record()
    with pytest.raises(
        RuntimeError, match=r"^Both events must be completed before calculating elapsed time\.$"
    ):
        a.elapsed_time(b)
    b.synchronize()
    assert 1 < a.elapsed_time(b) < 100 and b.elapsed_time(a) == -a.elapsed_time(b)


def test_an_event_that_was_never_recorded_stands_in_nobodys_way():
    e = CUDA.Event()
    CUDA._sleep(NAP)
    assert e.query() and e.synchronize() is None and e.wait() is None and e.wait(CUDA.Stream()) is None
    assert e.device is None and e.cuda_event == 0 and repr(e) == "<torch.cuda.Event uninitialized>"
    assert not CUDA.current_stream().query()


def test_a_recorded_event_says_so():
    e = CUDA.Event()
    e.record()
    assert e.device == torch.device("cuda", 0) and repr(e) == f"<torch.cuda.Event {e.cuda_event:#x}>"
    assert isinstance(e, torch.Event) and isinstance(e, CUDA.Event) and not isinstance(e, torch.Stream)


def test_recording_again_overwrites_and_a_wait_keeps_what_it_saw(side):
    e = CUDA.Event()
    e.record()
    side.wait_event(e)
    CUDA._sleep(NAP)
    e.record()
    assert side.query() and not e.query()
    side.wait_event(e)
    with CUDA.stream(side):
        CUDA._sleep(1)
    side.synchronize()
    assert e.query()


def test_record_and_wait_use_the_current_stream(side):
    e = CUDA.Event()
    with CUDA.stream(side):
        CUDA._sleep(NAP)
        e.record()
    assert not e.query() and CUDA.current_stream().query()
    e.wait()
    CUDA._sleep(1)
    CUDA.current_stream().synchronize()
    assert side.query()


def test_a_cpu_stream_context_does_not_say_where_an_event_is_recorded(side):
    e = CUDA.Event()
    with CUDA.stream(side):
        CUDA._sleep(NAP)
    with torch.cpu.StreamContext(side):
        e.record()
    assert e.synchronize() is None and not side.query()


def test_polling_an_event_ends():
    e = CUDA.Event()
    CUDA._sleep(NAP)
    e.record()
    looks = 0
    while not e.query():
        looks += 1
    assert 0 < looks < 100_000


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: CUDA.Event(True, interprocess=True).record(), torch.AcceleratorError, "invalid argument"),
        (lambda: CUDA.Event().ipc_handle(), torch.AcceleratorError, "invalid resource handle"),
        (lambda: CUDA.Event.from_ipc_handle("cuda", b"x"), RuntimeError, "object of size 64, but got 1"),
        (lambda: CUDA.Event.from_ipc_handle("cpu", bytes(64)), RuntimeError, "but got device type cpu"),
        (lambda: CUDA.Event().record(5), TypeError, "not int"),
        (lambda: CUDA.Stream().record_event(5), AttributeError, "record"),
        (lambda: torch.Event().ipc_handle(), NotImplementedError, "torch.Event ipc is not supported yet"),
        (lambda: torch.Event().elapsed_time(torch.Event()), RuntimeError, "other was not marked for"),
        (lambda: torch.Event("cuda:1"), torch.AcceleratorError, "invalid device ordinal"),
    ],
)  # fmt: skip
def test_errors_of_events(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error and words in str(caught.value)


def test_an_interprocess_event_has_a_handle():
    assert len(CUDA.Event(interprocess=True).ipc_handle()) == 64


def test_generic_events():
    a, b, s = torch.Event(enable_timing=True), torch.Event(enable_timing=True), torch.Stream()
    assert "device_type=cuda" in repr(a) and isinstance(torch.Event("cpu"), torch.Event)
    a.record(s)
    with s:
        CUDA._sleep(NAP)
        b.record()
    assert not b.query()
    with pytest.raises(torch.AcceleratorError, match="device not ready"):
        a.elapsed_time(b)
    b.synchronize()
    assert a.elapsed_time(b) > 1 and s.query()
    untimed = torch.Event()
    untimed.record()
    with pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        untimed.elapsed_time(b)


def test_generic_and_cuda_objects_go_together():
    s, t = torch.Stream(), CUDA.Stream()
    with CUDA.stream(t):
        CUDA._sleep(NAP)
    s.wait_stream(t)
    e = s.record_event()
    assert type(e).__name__ == "Event" and not e.query()
    CUDA.current_stream().wait_event(e)
    CUDA._sleep(1)
    CUDA.current_stream().synchronize()
    assert t.query()
    recorded = CUDA.Event()
    recorded.record(s)
    assert recorded.device == torch.device("cuda", 0)


def test_time_passes_on_streams_side_by_side(side):
    a, b, c = timed(), timed(), timed()
    a.record()
    with CUDA.stream(side):
        CUDA._sleep(NAP)
        b.record()
    c.record()
    CUDA.synchronize()
    assert a.elapsed_time(b) > 4 and a.elapsed_time(c) < 1 and b.elapsed_time(c) < 0
