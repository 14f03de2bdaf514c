"""Charts from the profiler's traces, with a trace of the fields that kineto writes (no GPU is needed)."""

import pytest

from grader.timelines import profiled

ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}


def trace():
    """A copy and an add on stream 13, a kernel on the default stream that waited for the add, a sync."""
    return {
        "schemaVersion": 1,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "ts": 0, "args": {"name": "python"}},
            event("cpu_op", "aten::copy_", 1000.0, 12, **{"External id": 1}),
            event("cuda_runtime", "cudaMemcpyAsync", 1002.0, 6, correlation=10),
            event("cpu_op", "aten::add", 1020.0, 10, **{"External id": 2}),
            event("cuda_runtime", "cudaLaunchKernel", 1022.0, 5, correlation=11),
            event("cuda_runtime", "cudaEventRecord", 1032.0, 1, correlation=12),
            event("cuda_runtime", "cudaStreamWaitEvent", 1034.0, 1, correlation=13),
            event("cuda_driver", "cuLaunchKernel", 1040.0, 5, correlation=14),
            event("cuda_runtime", "cudaDeviceSynchronize", 1050.0, 270, correlation=15),
            event(
                "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1010.0, 100,
                stream=13, correlation=10, bytes=4096, **{"External id": 1},
            ),
            event("kernel", ADD, 1112.0, 90, stream=13, correlation=11, **{"External id": 2}),
            event("kernel", "my_kernel(float*, int)", 1205.0, 110, stream=7, correlation=14),
        ],
    }  # fmt: skip


@pytest.fixture
def chart():
    return profiled.chart(trace(), "NVIDIA H200")


def test_kernels_and_copies_become_bars_of_their_streams(chart):
    assert [(b.stream, b.kind, b.name) for b in chart.bars] == [
        ("stream 13", "h2d", "Memcpy HtoD"),
        ("stream 13", "kernel", "add"),
        ("the default stream", "kernel", "my_kernel"),
    ]


def test_times_count_from_the_first_event_in_seconds(chart):
    copy = chart.bars[0]
    assert (copy.start, copy.end) == pytest.approx((8e-6, 108e-6))
    assert chart.host[0].start == 0


def test_calls_of_the_cuda_api_are_the_hosts(chart):
    assert [span.name for span in chart.host] == [
        "cudaMemcpyAsync", "cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent", "cuLaunchKernel",
        "cudaDeviceSynchronize",
    ]  # fmt: skip


def test_why_each_waited_is_concluded_from_the_times(chart):
    copy, add, mine = chart.bars
    assert (copy.why, copy.launch.name) == ("host", "cudaMemcpyAsync")
    assert (add.why, add.after) == ("stream", copy)
    assert (mine.why, mine.after) == ("event", add)
    assert chart.host[-1].on is mine
    assert chart.inferred and not chart.modelled


def test_the_critical_path(chart):
    assert [step.name for step in chart.path] == [
        "cudaMemcpyAsync", "Memcpy HtoD", "add", "my_kernel", "cudaDeviceSynchronize",
    ]  # fmt: skip


def test_a_stream_that_was_busy_elsewhere_long_before_explains_nothing():
    late = trace()
    late["traceEvents"][-1]["ts"] = 1400.0
    mine = profiled.chart(late, "a GPU").bars[-1]
    assert (mine.why, mine.launch.name) == ("host", "cuLaunchKernel")


def test_a_trace_without_device_work_is_an_empty_chart():
    empty = profiled.chart({"traceEvents": []}, "a GPU")
    assert (empty.bars, empty.host, empty.path, empty.end) == ([], [], [], 0)
