"""Rows of measurements on an NVIDIA H200, each beside the same program of PyTorch on the simulated GPU.

They go the whole way: PyTorch's operations, learners' kernels, streams, events and copies. Sizes that would
take long on a CPU are left to `model_rows`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from numba import cuda

from grader.simgpu import clock

from .model_program import SPIN
from .model_rows import Row

ADD = "template <typename T> T add(T x, T y) { return x + y; }"
GELU = """template <typename T> T gelu_add(T x, T y) {
    return T(0.5) * x * (T(1) + tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x))) + y;
}"""
BUSY = """template <typename T> T busy(T x) {
    for (int i = 0; i < 2000; ++i) x = x * T(0.999) + T(0.001);
    return x;
}"""
_CYCLES = 1.98e9  # a second
_LONG_SPIN = 1e-3  # seconds: the host has launched everything before it is over


def elapsed(body: Callable[[], object], spin: float = SPIN, runs: int = 2) -> float:
    """Seconds between two events around body(), behind a spin kernel; the last run counts."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(runs):
        torch.cuda.synchronize()
        if spin:
            torch.cuda._sleep(int(spin * _CYCLES))
        start.record()
        body()
        end.record()
        torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3


@cuda.jit
def _add_one(o, x):
    i = cuda.grid(1)
    if i < o.size:
        o[i] = x[i] + 1


def all_rows() -> Iterator[Row]:
    for rows in (
        _bandwidth, _gelu_by_size, _host_times, _flushed, _products, _sleeps, _small, _copies,
        _pipelines,
    ):  # fmt: skip
        yield from rows()


def jit(code: str) -> Callable:
    return torch.cuda.jiterator._create_jit_fn(code)


def gelu_eager(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) + y


def _bandwidth() -> Iterator[Row]:
    n = 1 << 24
    x, y, out = (torch.ones(n, device="cuda") for _ in range(3))
    add, gelu = jit(ADD), jit(GELU)
    for what, measured, passes, body in (
        ("copy on the device", 4230, 2, lambda: out.copy_(x)),
        ("x + y, eager", 4352, 3, lambda: torch.add(x, y, out=out)),
        ("x + y, jiterator", 4110, 3, lambda: add(x, y)),
        ("fill", 4647, 1, lambda: out.fill_(1)),
        ("sum", 4285, 1, lambda: x.sum()),
        ("gelu_tanh(x)+y, one op at a time", 518, 3, lambda: gelu_eager(x, y)),
        ("... F.gelu + add", 2582, 3, lambda: F.gelu(x, approximate="tanh") + y),
        ("... jiterator", 3690, 3, lambda: gelu(x, y)),
    ):
        yield f"{what}, 2^24 of 2^28 elements", "GB/s", measured, passes * n * 4 / elapsed(body) / 1e9
    o, grid = torch.empty_like(x), (n // 256, 256)
    yield (
        "numba x + 1, 2^24 of 2^28 elements", "GB/s", 2657,
        2 * n * 4 / elapsed(lambda: _add_one[grid](o, x), _LONG_SPIN) / 1e9,
    )  # fmt: skip
    half = x.half(), y.half()
    yield (
        "... jiterator, float16", "GB/s", 4330, 3 * n * 2 / elapsed(lambda: gelu(*half)) / 1e9
    )  # fmt: skip


def _gelu_by_size() -> Iterator[Row]:
    gelu = jit(GELU)
    for power, both in {10: (3.7, 45), 16: (3.7, 34), 20: (5.5, 48), 24: (60, 422)}.items():
        x, y = (torch.ones(1 << power, device="cuda") for _ in range(2))
        for kind, expected, body in zip(("jiterator", "eager"), both, (gelu, gelu_eager), strict=True):
            us = elapsed(lambda body=body, x=x, y=y: body(x, y)) * 1e6
            yield f"gelu_tanh(x)+y, 2^{power}, launched, {kind}", "us", expected, us


def _host_times() -> Iterator[Row]:
    x, add = torch.ones(1024, device="cuda"), jit(ADD)
    array = cuda.as_cuda_array(x)
    stream = torch.cuda.Stream()  # while one lives, work is followed in time
    new = jit(ADD.replace("add", f"add_{time.time_ns()}"))
    before = clock.device().host
    new(x, x)
    yield "first call of a jiterator kernel", "ms", 55, (clock.device().host - before) * 1e3
    for what, measured, call in (
        ("jiterator", 11, lambda: add(x, x)),
        ("eager", 10, lambda: x + x),
        ("numba, as_cuda_array", 25, lambda: _add_one[4, 256](array, array)),
        ("numba, a tensor", 68, lambda: _add_one[4, 256](x, x)),
    ):
        call()
        before = clock.device().host
        for _ in range(100):
            call()
        us = (clock.device().host - before) / 100 * 1e6
        yield f"host time of one launch: {what}", "us", measured, us
    stream.synchronize()


def _flushed() -> Iterator[Row]:
    add = jit(ADD)
    flush = torch.empty(64 << 20, device="cuda")
    measured = {
        "jiterator": (3.8, 4.2, 5.1, 7.6, 18.6, 56),
        "eager": (3.8, 4.2, 5.0, 7.5, 17.3, 52),
        "copy": (3.8, 4.0, 4.7, 6.2, 12.7, 36),
    }
    for kind, times in measured.items():
        for power, expected in zip((12, 16, 18, 20, 22, 24), times, strict=True):
            x, y, out = (torch.ones(1 << power, device="cuda") for _ in range(3))
            body = {
                "jiterator": lambda x=x, y=y: add(x, y),
                "eager": lambda x=x, y=y, out=out: torch.add(x, y, out=out),
                "copy": lambda x=x, out=out: out.copy_(x),
            }[kind]
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            body()
            flush.fill_(1)
            start.record()
            body()
            end.record()
            torch.cuda.synchronize()
            yield f"x + y, L2 flushed, 2^{power}, {kind}", "us", expected, start.elapsed_time(end) * 1e3


def on_two_streams(work: Callable[[], object], times: int) -> Callable[[], None]:
    """A function that does work() so often, alternately on the current stream and on another."""
    side = torch.cuda.Stream()

    def run() -> None:
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        for i in range(times):
            with torch.cuda.stream((main, side)[i % 2]):
                work()
        main.wait_stream(side)

    return run


def _products() -> Iterator[Row]:
    sizes = (64, 128, 256, 512, 1000, 1024)
    measured = ((64, 249), (53, 218), (107, 292), (118, 298), (413, 377), (457, 406))
    for m, both in zip(sizes, measured, strict=True):
        a = torch.ones(m, m, device="cuda")
        bodies = (lambda a=a: [a @ a for _ in range(8)]), on_two_streams(lambda a=a: a @ a, 8)
        for streams, expected, body in zip((1, 2), both, bodies, strict=True):
            us = elapsed(body, spin=0) * 1e6
            yield f"8 products, float32, m={m}, launched, {streams} stream(s)", "us", expected, us


def _sleeps() -> Iterator[Row]:
    main = torch.cuda.current_stream()

    def sleep_on(streams: list[torch.cuda.Stream]) -> None:
        for stream in streams:
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                torch.cuda._sleep(int(1e-3 * _CYCLES))
        for stream in streams:
            main.wait_stream(stream)

    for count, expected in zip((1, 2, 4, 8, 16, 32), (1.02, 1.06, 1.11, 1.24, 1.50, 2.02), strict=True):
        streams = [torch.cuda.Stream() for _ in range(count)]
        ms = elapsed(lambda streams=streams: sleep_on(streams)) * 1e3
        yield f"a 1 ms sleep kernel on each of {count} stream(s)", "ms", expected, ms


def _small() -> Iterator[Row]:
    x = torch.ones(1024, device="cuda")

    def dependent() -> None:
        y = x
        for _ in range(50):
            y = y + 1

    yield "two events around nothing", "us", 1.25, elapsed(lambda: None) * 1e6
    yield "50 dependent ops on 1,024 elements, eager", "us", 331, elapsed(dependent) * 1e6


def _copies() -> Iterator[Row]:
    n = 64 << 20
    device = torch.ones(n, device="cuda")
    pageable, pinned = torch.ones(n), torch.ones(n, pin_memory=True)
    for what, measured, body in (
        ("H2D, pinned", 55.0, lambda: device.copy_(pinned, non_blocking=True)),
        ("H2D, pageable", 15.0, lambda: device.copy_(pageable)),
        ("D2H, pinned", 54.9, lambda: pinned.copy_(device, non_blocking=True)),
    ):
        yield f"256 MiB, {what}", "GB/s", measured, n * 4 / elapsed(body) / 1e9
    main, side, back = torch.cuda.current_stream(), torch.cuda.Stream(), torch.empty(n, pin_memory=True)
    source = torch.ones(n, device="cuda")

    def both() -> None:
        side.wait_stream(main)
        device.copy_(pinned, non_blocking=True)
        with torch.cuda.stream(side):
            back.copy_(source, non_blocking=True)
        main.wait_stream(side)

    yield "256 MiB H2D and D2H at once", "ms", 5.46, elapsed(both) * 1e3


def _pipelines() -> Iterator[Row]:
    n, chunks = 64 << 20, 8
    given, result = torch.ones(n, pin_memory=True), torch.empty(n, pin_memory=True)
    work = torch.empty(n, device="cuda")
    main = torch.cuda.current_stream()
    parts = [[t.chunk(chunks)[i] for t in (given, work, result)] for i in range(chunks)]

    def pipeline(streams: list[torch.cuda.Stream]) -> None:
        for stream in streams:
            stream.wait_stream(main)
        for i, (host, device, out) in enumerate(parts):
            with torch.cuda.stream(streams[i % len(streams)]):
                device.copy_(host, non_blocking=True)
                for _ in range(30):
                    device.add_(1)
                out.copy_(device, non_blocking=True)
        for stream in streams:
            main.wait_stream(stream)

    for count, expected in zip((1, 2, 3, 4), (15.1, 8.8, 7.2, 7.1), strict=True):
        streams = [torch.cuda.Stream() for _ in range(count)]
        ms = elapsed(lambda streams=streams: pipeline(streams), runs=1) * 1e3
        yield f"H2D, 30 adds, D2H of 256 MiB, 8 chunks, {count} stream(s)", "ms", expected, ms
