"""A chart of a run on a real GPU, from what `torch.profiler` writes down."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from grader.timelines.chart import Bar, Chart, Span

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_HOST = ("cuda_runtime", "cuda_driver")
_NEAR = 10e-6  # seconds within which the end of one stream's work explains the start of another's
_WAITS = "Synchronize"
_DEFAULT_STREAMS = (0, 7)  # CUPTI calls PyTorch's default stream 7


def record(fn: Callable[[], object]) -> Chart:
    """Run fn() under the profiler, wait for the device, and return the chart."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        fn()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        trace = json.loads(file.read_text())
    return chart(trace, torch.cuda.get_device_name())


def chart(trace: dict, gpu: str) -> Chart:
    """Return the chart of a Chrome trace of kineto's: complete events with `ts` and `dur` in microseconds.

    Of kernels and copies it uses `args.stream`, `args.correlation` (which call launched them) and
    `args["External id"]` (which PyTorch operation made that call).
    """
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") in _DEVICE + _HOST]
    operations = {
        e.get("args", {}).get("External id"): e["name"]
        for e in trace["traceEvents"]
        if e.get("cat") == "cpu_op"
    }
    zero = min((e["ts"] for e in events), default=0.0)

    def times(event: dict) -> tuple[float, float]:
        return (event["ts"] - zero) * 1e-6, (event["ts"] - zero + event.get("dur", 0)) * 1e-6

    calls: dict[object, Span] = {}
    for event in sorted((e for e in events if e["cat"] in _HOST), key=lambda e: e["ts"]):
        correlation = event.get("args", {}).get("correlation", id(event))
        calls[correlation] = Span(event["name"], *times(event))
    host = list(calls.values())

    bars: list[Bar] = []
    for event in sorted((e for e in events if e["cat"] in _DEVICE), key=lambda e: e["ts"]):
        args = event.get("args", {})
        start, end = times(event)
        launch = calls.get(args.get("correlation"))
        operation = operations.get(args.get("External id"))
        bars.append(
            Bar(
                name=_name(event, operation),
                stream=_stream_name(args.get("stream", 0)),
                kind=_kind(event),
                start=start,
                end=end,
                ready=start,
                launch=launch,
            )
        )
    _explain(bars, host)
    return Chart(bars, host, gpu, modelled=False, inferred=True)


def _stream_name(number: int) -> str:
    return "the default stream" if number in _DEFAULT_STREAMS else f"stream {number}"


def _kind(event: dict) -> str:
    if event["cat"] == "gpu_memcpy":
        return {"HtoD": "h2d", "DtoH": "d2h"}.get(event["name"].split()[1], "kernel")
    return "kernel"


def _name(event: dict, operation: str | None) -> str:
    """The PyTorch operation's name, else the kernel's own without namespaces, types and parameters."""
    if event["cat"] != "kernel":
        return " ".join(event["name"].split()[:2])
    if operation:
        return operation.removeprefix("aten::")
    plain = event["name"].removeprefix("void ").split("<")[0].split("(")[0]
    return plain.split("::")[-1] or event["name"]


def _explain(bars: list[Bar], host: list[Span]) -> None:
    """Say what each bar waited for, as far as the times tell: whatever ended last before it started."""
    last: dict[str, Bar] = {}
    for bar in bars:
        before = last.get(bar.stream)
        launched = bar.launch.end if bar.launch else float("-inf")
        others = [b for name, b in last.items() if name != bar.stream and b.end <= bar.start]
        other = max(others, key=lambda b: b.end, default=None)
        bar.why, reached = "host", launched
        if before is not None and before.end > launched:
            bar.why, bar.after, reached = "stream", before, before.end
        if other is not None and other.end > reached and bar.start - other.end < _NEAR:
            bar.why, bar.after = "event", other
        last[bar.stream] = bar
    for span in host:
        if _WAITS in span.name:
            within = [b for b in bars if span.start < b.end <= span.end]
            span.on = max(within, key=lambda b: b.end, default=None)
