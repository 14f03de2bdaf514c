"""Work is followed while something may be out of order, and only then."""

import gc

import torch

from grader.simgpu import work

CUDA = torch.cuda


def test_nothing_is_followed_on_the_default_stream_alone():
    x = torch.ones(4, device="cuda")
    held = CUDA.current_stream(), CUDA.default_stream(), torch.accelerator.current_stream()
    (x * 2).sum().item()
    CUDA.synchronize()
    assert not work.tracking()
    assert {stream.stream_id for stream in held} == {0}


def test_work_is_followed_while_a_stream_or_an_event_lives():
    for make in (CUDA.Stream, CUDA.Event, torch.Stream, torch.Event):
        held = make()
        assert work.tracking()
        del held
        gc.collect()
        assert not work.tracking()


def test_work_is_followed_until_the_host_has_waited():
    CUDA._sleep(1000)
    assert work.tracking()
    torch.ones(4, device="cuda").sum().item()
    assert not work.tracking()
    h = torch.ones(4).pin_memory()
    x = h.to("cuda", non_blocking=True)
    assert work.tracking()
    CUDA.synchronize()
    assert not work.tracking() and x.is_cuda


def test_what_ran_before_a_stream_was_made_is_not_ordered_before_it(findings):
    x = torch.ones(4, device="cuda")
    CUDA.synchronize()
    y = torch.ones(4, device="cuda")
    x.add_(1)
    s = CUDA.Stream()
    with CUDA.stream(s):
        z = x + y
    assert {f.kind for f in findings} == {"read_before_write"} and len(findings) == 2
    CUDA.synchronize()
    assert z.is_cuda


def test_what_the_host_waited_for_is_ordered_before_new_streams(findings):
    waits = [
        lambda x: CUDA.synchronize(),
        lambda x: x.sum().item(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: x.cpu(),
    ]
    for wait in waits:
        x = torch.ones(4, device="cuda")
        x.add_(1)
        wait(x)
        s = CUDA.Stream()
        with CUDA.stream(s):
            assert (x * 2).tolist() == [4.0] * 4
    assert not findings


def test_nothing_is_kept_of_work_that_is_over():
    sides = [CUDA.Stream() for _ in range(4)]
    values = [torch.zeros(64, device="cuda") for _ in sides]
    CUDA.synchronize()

    def program():
        for i in range(200):
            s = sides[i % 4]
            with CUDA.stream(s):
                values[i % 4].add_(1)
                values[i % 4] * 2
            event = s.record_event()
            sides[(i + 1) % 4].wait_event(event)
        CUDA.synchronize()

    def objects():
        gc.collect()
        return len(gc.get_objects())

    program()
    before = objects()
    for _ in range(5):
        program()
    assert objects() - before < 200
