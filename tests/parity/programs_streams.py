"""Streams: what they are, which one is current, what waits for what."""

from __future__ import annotations

import threading
from functools import partial

import torch

from . import harness
from .harness import E, F
from .racing import current, default, nap, on, settled, sync

case = partial(harness.case, recorded=False)


@case("streams/the_thirty_third_is_the_first", expect=[True, True, 32, False])
def the_thirty_third_is_the_first():
    normal = [torch.cuda.Stream() for _ in range(33)]
    urgent = [torch.cuda.Stream(priority=-1) for _ in range(33)]
    ids = {s.cuda_stream for s in normal}
    return [normal[0] == normal[32], urgent[0] == urgent[32], len(ids), urgent[0].cuda_stream in ids]


@case("streams/priorities", expect=[[0, -3], [0, -1, -2, -3], [-3, 0, 0]])
def priorities():
    given = [torch.cuda.Stream(priority=p).priority for p in (0, -1, -2, -3)]
    clamped = [torch.cuda.Stream(priority=p).priority for p in (-100, 1, 100)]
    return [torch.cuda.Stream.priority_range(), given, clamped]


@case(
    "streams/the_default_stream",
    expect=[0, 0, 0, True, True, True, "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0>", "cuda:0", True],
)
def the_default_stream():
    s = default()
    same = [s == default(0), s == current(), s == current(torch.device("cuda"))]
    return [s.cuda_stream, s.stream_id, s.priority, *same, repr(s), str(s.device), s.query()]


@case("streams/nested_contexts", expect=[True, True, True, True, True])
def nested_contexts():
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with on(a):
        seen = [current() == a]
        with on(b):
            seen.append(current() == b)
            with on(a), on(a):
                seen.append(current() == a)
            seen.append(current() == b)
    return [*seen, current() == default()]


@case("streams/a_stream_is_a_context_itself", expect=[True, True, True])
def a_stream_is_a_context_itself():
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with a:
        seen = [current() == a]
        with b:
            seen.append(current() == b)
    return [*seen, current() == default()]


@case("streams/each_thread_has_its_own_current_stream", expect=[[True], [True], True])
def each_thread_has_its_own_current_stream():
    s, at_start, inside = torch.cuda.Stream(), [], []

    def work():
        at_start.append(current() == default())
        with on(torch.cuda.Stream()):
            inside.append(current() != s)

    with on(s):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        kept = current() == s
    return [at_start, inside, kept]


@case("streams/equality_and_hashing", expect=[True, True, False, False, 2, True])
def equality_and_hashing():
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with on(a):
        again = current()
    return [a == again, hash(a) == hash(again), a == b, a == 3, len({a, again, b}), a != b]


@case("streams/external", expect=[True, True, False, False, True])
def external():
    s = torch.cuda.Stream()
    e = torch.cuda.ExternalStream(s.cuda_stream)

    def run():
        with on(e):
            inside = current().cuda_stream == s.cuda_stream
            nap()
        busy = [s.query(), e.query()]
        e.synchronize()
        return [e.cuda_stream == s.cuda_stream, inside, *busy, s.query()]

    return settled(run)


@case("streams/query_says_whether_work_is_left", expect=[False, True, True, True])
def query_says_whether_work_is_left():
    s, t = torch.cuda.Stream(), torch.cuda.Stream()

    def run():
        with on(s):
            nap()
        seen = [s.query(), t.query(), default().query()]
        s.synchronize()
        return [*seen, s.query()]

    return settled(run)


@case("streams/synchronize_waits_for_one_stream", expect=[True, False, True])
def synchronize_waits_for_one_stream():
    s, t = torch.cuda.Stream(), torch.cuda.Stream()

    def run():
        with on(t):
            nap(8)
        with on(s):
            nap()
        s.synchronize()
        seen = [s.query(), t.query()]
        sync()
        return [*seen, t.query()]

    return settled(run)


@case("streams/waiting_for_oneself_and_twice", expect=[True, True])
def waiting_for_oneself_and_twice():
    s = torch.cuda.Stream()
    s.wait_stream(s)
    default().wait_stream(default())
    for _ in range(3):
        s.wait_stream(default())
        default().wait_stream(s)
    sync()
    return [s.query(), default().query()]


@case(
    "streams/a_context_of_the_cpu_leaves_the_gpus_alone", expect=[True, True, True, {"exc": "AttributeError"}]
)
def a_context_of_the_cpu_leaves_the_gpus_alone():
    s = torch.cuda.Stream()
    with torch.cpu.StreamContext(s):
        seen = [current() == default(), torch.cpu.current_stream() is s]
    with on(s), torch.cpu.StreamContext(torch.cpu.Stream()):
        seen.append(current() == s)
    return [*seen, E(lambda: torch.cpu.Stream().synchronize())]


@case("streams/of_any_device", expect=["cuda:0", "Stream", True, True, "Event", True, True])
def of_any_device():
    s = torch.Stream("cuda")
    with s:
        inside = [current().stream_id == s.stream_id, torch.accelerator.current_stream() == s]
        x = F(3) + 1
    event = s.record_event()
    torch.accelerator.current_stream().wait_event(event)
    s.synchronize()
    return [
        str(s.device),
        type(s).__name__,
        *inside,
        type(event).__name__,
        event.query(),
        x.sum().item() == 6,
    ]


@case("streams/the_accelerator", expect=["cuda", True, True, 0, True, True, False, [True, True], None])
def the_accelerator():
    accelerator = torch.accelerator
    s = torch.Stream()
    before = accelerator.current_stream()
    accelerator.set_stream(s)
    moved = [accelerator.current_stream() == s, current().stream_id == s.stream_id]
    accelerator.set_stream(before)
    return [
        str(accelerator.current_accelerator()),
        accelerator.is_available(),
        accelerator.device_count() > 0,
        accelerator.current_device_index(),
        before.stream_id == 0,
        accelerator.current_stream() == before,
        hasattr(accelerator, "stream"),
        moved,
        accelerator.synchronize(),
    ]
