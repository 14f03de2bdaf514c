"""The rows of measurements on an NVIDIA H200, each beside the same program on the modelled device.

The programs queue work on a `Device` by itself, without PyTorch. `program_rows` runs programs of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grader.simgpu.clock import Cost, Lane, costs
from grader.simgpu.clock.profiles import H200

from .model_program import MIB, Program

Row = tuple[str, str, float, float]  # what, unit, measured, modelled

_BIG = 1 << 28  # elements
_FLOAT = 4


def all_rows() -> Iterator[Row]:
    for rows in (
        _bandwidth, _gelu_by_size, _host_times, _flushed, _products, _compute_bound, _sleeps, _small, _copies,
    ):  # fmt: skip
        yield from rows()


def _bandwidth() -> Iterator[Row]:
    size = _BIG * _FLOAT

    def rate(useful: float, body: Callable[[Program, list], object]) -> float:
        p = Program()
        memory = p.memory(size, 3)
        return useful / p.elapsed(lambda: body(p, memory)) / 1e9

    yield (
        "copy on the device, 2^28 float32",
        "GB/s",
        4230,
        rate(2 * size, lambda p, m: p.launch(p.op("copy_", m[:1], m[1:2]))),
    )
    yield (
        "x + y, 2^28 float32, eager",
        "GB/s",
        4352,
        rate(3 * size, lambda p, m: p.launch(p.op("add", m[:2], m[2:]))),
    )
    yield (
        "x + y, 2^28 float32, jiterator",
        "GB/s",
        4110,
        rate(3 * size, lambda p, m: p.launch(p.jiterator(m[:2], m[2:], _BIG))),
    )
    yield "fill, 2^28 float32", "GB/s", 4647, rate(size, lambda p, m: p.launch(p.op("fill_", [], m[:1])))
    yield (
        "sum, 2^28 float32",
        "GB/s",
        4285,
        rate(size, lambda p, m: p.launch(p.op("sum", m[:1], p.memory(4)))),
    )
    useful = 3 * size
    yield (
        "gelu_tanh(x)+y, 2^28, one op at a time",
        "GB/s",
        518,
        rate(useful, lambda p, m: p.launch(*p.gelu_eager(m[0], m[1]))),
    )
    yield (
        "... F.gelu + add",
        "GB/s",
        2582,
        rate(useful, lambda p, m: p.launch(p.op("gelu", m[:1], m[2:]), p.op("add", m[1:], m[2:]))),
    )
    yield "... jiterator", "GB/s", 3690, rate(useful, lambda p, m: p.launch(p.jiterator(m[:2], m[2:], _BIG)))
    yield (
        "... torch.compile",
        "GB/s",
        4343,
        rate(useful, lambda p, m: p.launch(costs.kernel("triton", m[:2], m[2:], _BIG // 4, device=p.device))),
    )
    half = [(key, size // 2) for key in "xyz"]
    yield (
        "... jiterator, float16",
        "GB/s",
        4330,
        rate(useful / 2, lambda p, m: p.launch(p.jiterator(half[:2], half[2:], _BIG))),
    )
    yield (
        "numba x + 1, 2^28 float32",
        "GB/s",
        2657,
        rate(2 * size, lambda p, m: p.launch(costs.kernel("numba", m[:1], m[1:2], _BIG, device=p.device))),
    )


def _gelu_by_size() -> Iterator[Row]:
    replayed = {10: (3.5, 13), 16: (3.7, 15), 20: (5.3, 25), 24: (60, 410), 26: (221, 1566)}
    launched = {10: (3.7, 45), 16: (3.7, 34), 20: (5.5, 48), 24: (60, 422), 26: (220, 1579)}
    for way, measured in (("graph replay", replayed), ("launched", launched)):
        for power, both in measured.items():
            for kind, expected in zip(("jiterator", "eager"), both, strict=True):
                yield (
                    f"gelu_tanh(x)+y, 2^{power}, {way}, {kind}", "us", expected,
                    _gelu(power, kind, way) * 1e6,
                )  # fmt: skip


def _gelu(power: int, kind: str, way: str) -> float:
    p = Program()
    n = 1 << power
    x, y, out = p.memory(n * _FLOAT, 3)

    def work() -> list[Cost]:
        return [p.jiterator([x, y], [out], n)] if kind == "jiterator" else p.gelu_eager(x, y)

    p.launch(*work())
    p.device.host_waits()
    again = work()
    return p.elapsed(lambda: p.replay(again) if way == "graph replay" else p.launch(*again))


def _host_times() -> Iterator[Row]:
    p = Program()
    x = p.memory(4096)
    for what, measured, cost in (
        ("jiterator", 11, p.jiterator(x, x, 1024)),
        ("eager", 10, p.op("add", x, x)),
        ("numba, as_cuda_array", 25, costs.kernel("numba", x, x, 1024, device=p.device)),
        (
            "numba, a tensor",
            68,
            costs.kernel("numba", x, x, 1024, host=H200.host.numba_tensor, device=p.device),
        ),
    ):
        before = p.device.host
        p.launch(*[cost] * 100)
        yield f"host time of one launch: {what}", "us", measured, (p.device.host - before) / 100 * 1e6
    yield "first call of a jiterator kernel: compilation", "ms", 55, H200.host.compile_jiterator * 1e3


def _flushed() -> Iterator[Row]:
    measured = {
        "jiterator": (3.8, 4.2, 5.1, 7.6, 18.6, 56, 200),
        "eager": (3.8, 4.2, 5.0, 7.5, 17.3, 52, 188),
        "copy": (3.8, 4.0, 4.7, 6.2, 12.7, 36, 129),
    }
    for kind, times in measured.items():
        for power, expected in zip((12, 16, 18, 20, 22, 24, 26), times, strict=True):
            p = Program()
            x, y, out = p.memory((1 << power) * _FLOAT, 3)
            p.flush()
            if kind == "jiterator":
                cost = p.jiterator([x, y], [out], 1 << power)
            else:
                cost = p.op("copy_", [x], [out]) if kind == "copy" else p.op("add", [x, y], [out])
            yield (
                f"x + y, L2 flushed, 2^{power}, {kind}", "us", expected,
                p.elapsed(lambda p=p, cost=cost: p.launch(cost)) * 1e6,
            )  # fmt: skip


def _products() -> Iterator[Row]:
    sizes = (64, 128, 256, 512, 1000, 1024, 2048, 4096)
    replayed = (
        (28, 16), (38, 21), (54, 37), (105, 79), (406, 376), (451, 394), (2725, 2713), (21421, 21397),
    )  # fmt: skip
    launched = (
        (64, 249), (53, 218), (107, 292), (118, 298), (413, 377), (457, 406), (2732, 2757), (21561, 21605),
    )  # fmt: skip
    tf32 = ((39, 22), (31, 18), (42, 23), (60, 33), (119, 101), (105, 95), (391, 386), (3096, 3180))
    for numbers, measured in (("float32", replayed), ("tf32", tf32)):
        for m, both in zip(sizes, measured, strict=True):
            for streams, expected in zip((1, 2), both, strict=True):
                p = Program()
                work = [p.product(m, numbers)] * (8 // streams)
                seconds = p.elapsed(lambda p=p, work=work, n=streams: p.replay(*[work] * n))
                yield (
                    f"8 products, {numbers}, m={m}, graph, {streams} stream(s)",
                    "us",
                    expected,
                    seconds * 1e6,
                )
    for m, both in zip(sizes, launched, strict=True):
        for streams, expected in zip((1, 2), both, strict=True):
            p = Program()
            seconds = p.elapsed(lambda p=p, m=m, n=streams: _launch_products(p, m, n), spin=0)
            yield f"8 products, float32, m={m}, launched, {streams} stream(s)", "us", expected, seconds * 1e6


def _launch_products(p: Program, m: int, streams: int) -> None:
    cost = p.product(m, "float32")
    if streams == 1:
        return p.launch(*[cost] * 8)
    device = p.device
    sides = (p.main, p.side)
    device.wait(p.side, device.mark(p.main))
    for i in range(8):
        device.spend(H200.host.set_stream, "set stream")
        p.launch(cost, lane=sides[i % 2])
        device.spend(H200.host.set_stream, "set stream")
    device.wait(p.main, device.mark(p.side))


def _compute_bound() -> Iterator[Row]:
    powers = (12, 14, 16, 17, 18, 20, 22)
    measured = ((70, 36), (70, 37), (70, 37), (70, 37), (71, 38), (143, 141), (560, 543))
    for power, both in zip(powers, measured, strict=True):
        for streams, expected in zip((1, 2), both, strict=True):
            p = Program()
            n = 1 << power
            work = [p.jiterator(p.memory(n * _FLOAT), p.memory(n * _FLOAT), n, 2000) for _ in range(2)]
            branches = [work] if streams == 1 else [work[:1], work[1:]]
            seconds = p.elapsed(lambda p=p, b=branches: p.replay(*b))
            yield (
                f"2 kernels, 2,000 multiply-adds, 2^{power}, {streams} stream(s)",
                "us",
                expected,
                seconds * 1e6,
            )


def _sleeps() -> Iterator[Row]:
    for streams, expected in zip((1, 2, 4, 8, 16, 32), (1.02, 1.06, 1.11, 1.24, 1.50, 2.02), strict=True):
        p = Program()
        lanes = [p.device.lane(f"s{i}") for i in range(streams)]
        yield (
            f"a 1 ms sleep kernel on each of {streams} stream(s)", "ms", expected,
            p.elapsed(lambda p=p, lanes=lanes: _sleep_on(p, lanes)) * 1e3,
        )  # fmt: skip


def _sleep_on(p: Program, lanes: list[Lane]) -> None:
    device = p.device
    for lane in lanes:
        device.wait(lane, device.mark(p.main))
        device.spend(H200.host.set_stream, "set stream")
        device.queue(lane, costs.sleep(round(1e-3 * H200.clock), device=device), "sleep", "sleep")
        device.spend(H200.host.set_stream, "set stream")
    for lane in lanes:
        device.wait(p.main, device.mark(lane))


def _small() -> Iterator[Row]:
    p = Program()
    yield "two events around nothing", "us", 1.25, p.elapsed(lambda: None) * 1e6
    x = p.memory(4096)
    work = [p.op("add", x, x)] * 50
    yield "50 dependent ops on 1,024 elements, eager", "us", 331, p.elapsed(lambda: p.launch(*work)) * 1e6
    yield "... graph replay", "us", 57, p.elapsed(lambda: p.replay(work)) * 1e6


def _copies() -> Iterator[Row]:
    size = 256 * MIB
    for direction, pinned, expected in (("h2d", True, 55.0), ("h2d", False, 15.0), ("d2h", True, 54.9)):
        p = Program()
        seconds = p.elapsed(lambda p=p, d=direction, pinned=pinned: _copy(p, p.main, size, d, pinned))
        how = "pinned" if pinned else "pageable"
        yield f"256 MiB, {direction.upper()}, {how}", "GB/s", expected, size / seconds / 1e9
    p = Program()
    yield "256 MiB H2D and D2H at once", "ms", 5.46, p.elapsed(lambda: _both_directions(p, size)) * 1e3
    for streams, expected in zip((1, 2, 3, 4), (15.1, 8.8, 7.2, 7.1), strict=True):
        p = Program()
        seconds = p.elapsed(lambda p=p, n=streams: _pipeline(p, size // 8, n))
        yield f"H2D, 30 adds, D2H of 256 MiB, 8 chunks, {streams} stream(s)", "ms", expected, seconds * 1e3


def _copy(p: Program, lane: Lane, size: int, direction: str, pinned: bool = True) -> None:
    p.device.queue(lane, costs.copy(size, direction, pinned, device=p.device), direction, "copy", direction)


def _both_directions(p: Program, size: int) -> None:
    device = p.device
    device.wait(p.side, device.mark(p.main))
    _copy(p, p.main, size, "h2d")
    _copy(p, p.side, size, "d2h")
    device.wait(p.main, device.mark(p.side))


def _pipeline(p: Program, size: int, streams: int) -> None:
    device = p.device
    lanes = [p.main] if streams == 1 else [device.lane(f"s{i}") for i in range(streams)]
    for lane in lanes:
        device.wait(lane, device.mark(p.main))
    for chunk in range(8):
        lane = lanes[chunk % streams]
        device.spend(H200.host.set_stream, "set stream")
        x = p.memory(size)
        _copy(p, lane, size, "h2d")
        for _ in range(30):
            p.launch(p.op("add_", x, x), lane=lane)
        _copy(p, lane, size, "d2h")
        device.spend(H200.host.set_stream, "set stream")
    for lane in lanes:
        device.wait(p.main, device.mark(lane))
