"""Kernels that go wrong: the learner reads which line, thread and element; the process goes on."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import torch

from grader.simgpu.grid.faults import KernelFault

from .conftest import HEAD, floats, ints

ADD = "(const float* x, float* y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = x[i];\n}"


def text_of(findings):
    (finding,) = findings
    return finding.text


@pytest.mark.parametrize(
    ("text", "args", "said"),
    [
        (
            ADD,
            (1000, 1024),
            "kernel k, line 3: `y[i] = x[i];`\nblock (3,0,0), thread (232,0,0) reads x[1000], but x has "
            "1000 elements.",
        ),
        (
            ADD,
            (1024, 1000),
            "kernel k, line 3: `y[i] = x[i];`\nblock (3,0,0), thread (232,0,0) writes y[1000], but y has "
            "1000 elements.",
        ),
        (
            "(float* x, float* y) {\n  x[(int)threadIdx.x - 1] = 2;\n}",
            (8, 8),
            "block (0,0,0), thread (0,0,0) writes x[-1], but x has 8 elements.",
        ),
        (
            "(float4* x, float* y) {\n  y[0] = x[threadIdx.x].w;\n}",
            (8, 8),
            "block (0,0,0), thread (2,0,0) reads x[11], but x has 8 elements.",
        ),
        (
            "(float* x, float* y) {\n  atomicAdd(x + 8 + threadIdx.x, 1.f);\n}",
            (8, 8),
            "line 2: `atomicAdd(x + 8 + threadIdx.x, 1.f);`\nblock (0,0,0), thread (0,0,0) writes x[8]",
        ),
        (
            "(const float* x, float* y) {\n  y[0] = __ldg(x + 8);\n}",
            (8, 8),
            "line 2: `y[0] = __ldg(x + 8);`\nblock (0,0,0), thread (0,0,0) reads x[8]",
        ),
    ],
)
def test_out_of_bounds(launch, text, args, said):
    with pytest.raises(KernelFault) as caught:
        launch(text, *map(floats, args), grid=4, block=256)
    assert said in str(caught.value)
    assert str(caught.value).startswith("UNSAFE (out_of_bounds)   kernel k, line")
    assert caught.value.reason == "out_of_bounds"
    assert floats(3).sum().item() == 3  # the device is as it was


def test_a_view_has_its_own_bounds(launch):
    x = floats(1000)
    with pytest.raises(KernelFault, match=r"reads x\[100\], but x has 100 elements"):
        launch(ADD, x[:100], floats(1024), grid=1, block=128)
    launch(ADD, x[:128], floats(1024), grid=1, block=128)


def test_outside_shared_memory(launch):
    with pytest.raises(
        KernelFault, match=r"thread \(16,0,0\) writes shared memory\[64\], but shared memory has 64 bytes"
    ):
        launch(
            "(float* x) { extern __shared__ float s[]; s[threadIdx.x] = 1; __syncthreads(); x[0] = s[0]; }",
            floats(1),
            shared_mem=64,
        )


def test_far_out_of_bounds_ruins_the_device_as_on_a_gpu(launch):
    x = floats(8)
    said = text_of(launch("(float* x) {\n  x[threadIdx.x + (1ll << 32)] = 1;\n}", x))
    assert "kernel k, line 2" in said and "out_of_bounds" in said
    with pytest.raises(torch.AcceleratorError, match="^CUDA error: an illegal memory access was encountered"):
        x + 1
    with pytest.raises(torch.AcceleratorError):
        torch.cuda.synchronize()
    with pytest.raises(torch.AcceleratorError):
        launch("(float* x) { x[0] = 1; }", 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "(float* x) {\n  float4 v = ((float4*)(x + 1))[threadIdx.x];\n  x[0] = v.x;\n}",
            "line 2: `float4 v = ((float4*)(x + 1))[threadIdx.x];`\nblock (0,0,0), thread (0,0,0) reads "
            "16 bytes at once at x[1]",
        ),
        (
            "(float* x) {\n  ((float2*)(x + 3))[threadIdx.x] = make_float2(1, 2);\n}",
            "writes 8 bytes at once at x[3]",
        ),
        ("(float* x) {\n  *(double*)(x + 1) = 1;\n}", "writes 8 bytes at once at x[1]"),
    ],
)
def test_misaligned(launch, text, said):
    x = floats(64)
    assert said in text_of(launch(text, x, block=1))
    with pytest.raises(torch.AcceleratorError, match="^CUDA error: misaligned address"):
        x + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "(float* x) {\n  x[0] += 1;\n}",
            "line 2: `x[0] += 1;`\nthread (1,0,0) reads x[0], and thread (0,0,0) writes it on the same "
            "line (block (0,0,0))",
        ),
        (
            "(float* x) {\n  __shared__ float s[64];\n  int t = threadIdx.x;\n  s[t] = x[t];\n  "
            "__syncthreads();\n  s[t] = s[(t + 1) % 64];\n  x[t] = s[t];\n}",
            "line 6: `s[t] = s[(t + 1) % 64];`\nthread",
        ),
        (
            "(float* x) {\n  if (threadIdx.x == 0)\n    x[0] = 1;\n  __syncthreads();\n}",
            "(blocks (1,0,0) and (0,0,0))",
        ),
        (
            "(float* x) {\n  atomicAdd(x, 1.f);\n  if (threadIdx.x == 0)\n    x[1] = x[0];\n}",
            "One of the two is atomic, and the other is not",
        ),
    ],
)
def test_races(launch, text, said):
    findings = launch(text, floats(64), grid=2, block=64)
    assert {f.kind for f in findings} == {"race"}
    assert any(said in f.text for f in findings)
    assert all(f.text.startswith("UNSAFE (race)   kernel k, line ") for f in findings)


@pytest.mark.parametrize(
    "text",
    [
        "(float* x) { atomicAdd(x, 1.f); }",
        "(float* x) { __shared__ float s[64]; int t = threadIdx.x; s[t] = x[64 * blockIdx.x + t]; "
        "__syncthreads(); float v = s[(t + 1) % 64]; __syncthreads(); s[t] = v; x[64 * blockIdx.x + t] = "
        "s[t]; }",
        "(float* x) { if (threadIdx.x == 0) x[blockIdx.x] = 1; }",
        "(float* x) { x[64 * blockIdx.x + threadIdx.x] += 1; x[64 * blockIdx.x + threadIdx.x] *= 2; }",
        "(float* x) { int* p = (int*)x; int old = *p, seen; do { seen = old; old = atomicCAS(p, seen, "
        "__float_as_int(__int_as_float(seen) + 1)); } while (seen != old); }",
        "(float* x) { char* c = (char*)x; c[64 * blockIdx.x + threadIdx.x] = 1; }",
    ],
)
def test_no_races(launch, text):
    assert launch(text, torch.zeros(128, device="cuda"), grid=2, block=64) == []


def test_barriers_that_not_all_reach(launch):
    x = floats(64)
    said = text_of(
        launch(
            "(float* x, int n) {\n  if (threadIdx.x >= n) return;\n  __syncthreads();\n  x[threadIdx.x] "
            "= 1;\n}",
            x,
            20,
        )
    )
    assert said.startswith(
        "UNSAFE (divergent_barrier)   kernel k, line 3: `__syncthreads();`\nthread (0,0,0) of block "
        "(0,0,0) waits there, but thread (20,0,0) ended without it."
    )
    assert x[:21].tolist() == [1.0] * 20 + [20.0]
    said = text_of(
        launch(
            "(float* x) {\n  if (threadIdx.x < 16)\n    __syncthreads();\n  else\n    __syncthreads();\n}", x
        )
    )
    assert "line 3: `__syncthreads();`" in said and "waits on kernel k, line 5" in said


def test_one_barrier_in_an_unrolled_loop_is_one_barrier(launch):
    text = (
        "(float* x) { __shared__ float s[64]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();\n"
        "#pragma unroll\nfor (int d = 32; d; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); } "
        "x[t] = s[0]; }"
    )
    x = floats(64)
    assert launch(text, x, block=64) == []
    assert x.unique().tolist() == [2016.0]


def test_lanes_that_do_not_come(launch):
    said = text_of(
        launch(
            "(int* x) {\n  if (threadIdx.x < 16)\n    x[threadIdx.x] = __shfl_down_sync(0xffffffff, "
            "x[threadIdx.x], 1);\n}",
            ints(n=32),
        )
    )
    assert said.startswith("UNSAFE (warp)   kernel k, line 3")


@pytest.mark.parametrize(
    "call", ["__shfl_down_sync(0xffffffff, x[t], 1)", "__ballot_sync(0xffffffff, x[t] > 1)"]
)
def test_a_mask_that_names_lanes_beyond_the_block(launch, call):
    text = f"(int* x) {{\n  int t = threadIdx.x;\n  x[t] = {call};\n}}"
    said = text_of(launch(text, ints(n=64), block=52))
    assert said.startswith("UNSAFE (warp)   kernel k, line 3")
    assert "lane 0 of block (0,0,0) names lanes in its mask that do not exist" in said
    assert "this warp has 20 lanes." in said
    assert launch(text, ints(n=64), block=64) == []
    assert launch(text.replace("0xffffffff", "t < 32 ? 0xffffffffu : 0xfffffu"), ints(n=64), block=52) == []
    assert launch("(int* x) { __syncwarp(); x[threadIdx.x] = 1; }", ints(n=64), block=52) == []


@pytest.mark.parametrize(
    ("text", "grid", "advice"),
    [
        ("(float* x) { x[0] = threadIdx.x; }", 1, "Whose element is it, or should the update be atomic?"),
        ("(float* x) { x[0] += 1; }", 1, "Whose element is it, or should the update be atomic?"),
        (
            "(float* x) {\n x[threadIdx.x] = 1;\n x[0] = x[threadIdx.x ^ 1]; }",
            1,
            "must they all have arrived?",
        ),
        (
            "(float* x) { __shared__ float s[32]; int t = threadIdx.x; s[t] = t; __syncthreads();\n"
            "s[t] = s[t ^ 1]; x[t] = s[t]; }",
            1,
            "Where must they all have arrived?",
        ),
        (
            "(float* x) {\n if (blockIdx.x == 0) { if (threadIdx.x == 0) atomicAdd(x, 1.f); }\n"
            "else if (threadIdx.x == 0) x[1] = x[0];\n}",
            2,
            "No barrier joins blocks: read it in the next launch, or make both atomic.",
        ),
    ],
)
def test_what_would_mend_a_race(launch, text, grid, advice):
    assert any(f.text.endswith(advice) for f in launch(text, floats(64), grid=grid))


def test_the_last_block_sees_what_others_wrote_before_a_fence(launch):
    text = """(const float* x, float* part, float* o, unsigned* done) {
        __shared__ float s[64]; __shared__ bool last; int t = threadIdx.x;
        s[t] = x[blockIdx.x * 64 + t]; __syncthreads();
        for (int d = 32; d; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
        if (t == 0) { part[blockIdx.x] = s[0]; FENCE last = atomicAdd(done, 1u) == gridDim.x - 1; }
        __syncthreads();
        if (last && t == 0) { float r = 0; for (int b = 0; b < gridDim.x; b++) r += part[b]; o[0] = r; }
    }"""
    for fence, kinds in (("__threadfence();", []), ("", ["race"])):
        x, part, o, done = floats(256), floats(4), floats(1), ints(n=1)
        assert [
            f.kind for f in launch(text.replace("FENCE", fence), x, part, o, done, grid=4, block=64)
        ] == kinds
        assert o.item() == 255 * 128


def test_an_endless_loop_is_interrupted(launch):
    for text in (
        "(int* x) { while (*(volatile int*)x == 0) { } }",
        "(int* x) { __syncthreads(); while (*(volatile int*)x == 0) { } }",
    ):
        x = ints(n=1)
        launch("(int* x) { x[0] = 0; }", x, block=1)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            launch(text, x)
        assert x.item() == 0


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
def test_recursion_without_end(launch, barrier):
    before = "__device__ int f(int a) { return f(a + 1) + a; }\n"
    with pytest.raises(RuntimeError, match="ran out of stack"):
        launch(f"(int* x) {{ {barrier} x[0] = f(x[1]); }}", ints(n=2), before=before)


def test_an_assertion(launch, capfd):
    x = ints(n=1)
    launch("(int* x) {\n  assert(threadIdx.x < 3);\n}", x, block=4)
    assert "k: block: [0,0,0], thread: [3,0,0] Assertion `threadIdx.x < 3` failed." in capfd.readouterr().out
    with pytest.raises(torch.AcceleratorError, match="^CUDA error: device-side assert triggered"):
        x + 1


def test_a_trap(launch):
    x = ints(n=1)
    launch("(int* x) { __trap(); }", x)
    with pytest.raises(torch.AcceleratorError, match="^CUDA error: unspecified launch failure"):
        x + 1


def test_a_pointer_that_is_none(launch):
    launch("(int* x) { x[0] = 1; }", 5)
    with pytest.raises(torch.AcceleratorError, match="line 1: `.*`\nblock .* but that is a null pointer"):
        torch.cuda.synchronize()


def test_findings_are_warned_once_at_the_line_of_the_launch():
    kernel = torch.cuda._compile_kernel(HEAD + "(float* x) { x[0] += 1; }", "k")
    x = floats(1)
    with pytest.warns(UserWarning, match="UNSAFE \\(race\\)") as caught:
        for _ in range(3):
            kernel(block=(32, 1, 1), args=[x])
    assert len(caught) == 1
    assert caught[0].filename == __file__
