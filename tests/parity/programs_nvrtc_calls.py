"""CUDA C++ compiled at run time: what compiling refuses, and how arguments and launches go wrong."""

from __future__ import annotations

import struct
from functools import partial

import numpy as np
import torch

from . import harness
from .harness import D, E, F, T, refused
from .racing import compiled, launch, sync

case = partial(harness.case, recorded=False)

COPY = 'extern "C" __global__ void k(const float* x, float* o) { o[threadIdx.x] = x[threadIdx.x]; }'
ADD = 'extern "C" __global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'
INVALID = {"exc": "RuntimeError", "msg": "CUDA error: invalid argument"}


def zeros(n, dtype=torch.float32):
    return torch.zeros(n, dtype=dtype, device=D)


def low_bytes(value):
    """The float that the first four bytes of a double are."""
    return struct.unpack("f", struct.pack("d", value)[:4])[0]


@case("nvrtc-calls/a_python_float_is_a_double", expect=[[0.0, 0.0, 0.0], [1.0, 2.5, -3.0]])
def a_python_float_is_a_double():
    source = """
    extern "C" __global__ void k(float* o, TYPE a, TYPE b, TYPE c) { o[0] = a; o[1] = b; o[2] = c; }
    """
    wrong, right = (compiled(source.replace("TYPE", name)) for name in ("float", "double"))
    seen = []
    for kernel in (wrong, right):
        o = torch.full((3,), 9.0, device=D)
        launch(kernel, 1, 1, o, 1.0, 2.5, -3.0)
        seen.append(o.tolist())
    return seen


@case("nvrtc-calls/the_low_half_of_a_double", expect=[low_bytes(0.1), low_bytes(1 / 3)])
def the_low_half_of_a_double():
    kernel = compiled('extern "C" __global__ void k(float* o, float a, float b) { o[0] = a; o[1] = b; }')
    o = zeros(2)
    launch(kernel, 1, 1, o, 0.1, 1 / 3)
    return o.tolist()


@case("nvrtc-calls/scalars_behind_a_pointer", expect=[2.5, 7.0])
def scalars_behind_a_pointer():
    kernel = compiled(
        'extern "C" __global__ void k(float* o, const float* a, const float* b) { o[0] = *a; o[1] = *b; }'
    )
    o = zeros(2)
    launch(kernel, 1, 1, o, T([2.5]), torch.full((1,), 7.0).pin_memory())
    return o.tolist()


@case("nvrtc-calls/booleans_and_negative_ints", expect=[1, 0, -5, 4294967291])
def booleans_and_negative_ints():
    kernel = compiled("""
    extern "C" __global__ void k(long long* o, bool yes, bool no, int n, unsigned u) {
        o[0] = yes; o[1] = no; o[2] = n; o[3] = u;
    }""")
    o = torch.full((4,), 9, device=D)
    launch(kernel, 1, 1, o, True, False, -5, -5)
    return o.tolist()


@case(
    "nvrtc-calls/arguments_that_are_refused",
    expect=[
        {"exc": "ValueError", "msg": "All tensor arguments must be CUDA tensors or pinned CPU tensors"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'numpy.int64'>"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'numpy.float32'>"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'str'>"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'NoneType'>"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'list'>"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'complex'>"},
        {"exc": "TypeError", "msg": "Unsupported argument type: <class 'numpy.ndarray'>"},
    ],
)
def arguments_that_are_refused():
    kernel, x = compiled(COPY), F(2)
    wrong = (torch.ones(2), np.int64(3), np.float32(3), "x", None, [1.0], 1j, np.ones(2, dtype=np.float32))
    return [E(launch, kernel, 1, 2, x, w) for w in wrong]


@case("nvrtc-calls/pinned_memory_of_the_host", expect=[[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]])
def pinned_memory_of_the_host():
    h, x = torch.arange(3.0).pin_memory(), zeros(3)
    launch(compiled(COPY), 1, 3, h, x)
    sync()
    launch(compiled(ADD), 1, 3, h, 3)
    sync()
    return [h.tolist(), x.tolist()]


@case("nvrtc-calls/shapes_that_do_not_launch", expect=[INVALID, INVALID, INVALID, INVALID, [1.0, 1.0]])
def shapes_that_do_not_launch():
    kernel, x = compiled(ADD), zeros(2)
    shapes = ((1, 1025), (1, (32, 33)), (0, 32), (1, 0))
    refusals = [E(launch, kernel, *shape, x, 2) for shape in shapes]
    launch(kernel, 1, 1024, x, 2)
    return [*refusals, x.tolist()]


@case(
    "nvrtc-calls/forms_of_the_call", expect=[[1.0], [2.0], [3.0], {"exc": "TypeError"}, {"exc": "IndexError"}]
)
def forms_of_the_call():
    kernel, x = compiled(ADD), zeros(1)
    return [
        (kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[x, 1]), x.tolist())[1],
        (kernel(args=(x, 1)), x.tolist())[1],
        (kernel((1, 1, 1), (1, 1, 1), [x, 1], 0, torch.cuda.current_stream()), x.tolist())[1],
        E(lambda: kernel(grid=1, block=1, args=[x, 1])),
        E(lambda: kernel(grid=(1,), block=(1,), args=[x, 1])),
    ]


@case(
    "nvrtc-calls/more_shared_memory_than_usual",
    expect=[
        {"exc": "RuntimeError", "msg": "Kernel requires 60000 bytes of shared memory (>= 48KB), but "},
        [14999.0],
        {"exc": "RuntimeError", "msg": "Kernel requires 62000 bytes of shared memory (>= 48KB), but "},
        {"exc": "RuntimeError", "msg": "Requested shared memory (10000000 bytes) exceeds device limi"},
    ],
)
def more_shared_memory_than_usual():
    kernel = compiled("""
    extern "C" __global__ void k(float* o, int n) {
        extern __shared__ float tile[];
        for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;
        __syncthreads();
        if (threadIdx.x == 0) o[0] = tile[n - 1];
    }""")
    o = zeros(1)
    first = E(lambda: launch(kernel, 1, 256, o, 15000, shared_mem=60_000))
    kernel.set_shared_memory_config(60_000)
    launch(kernel, 1, 256, o, 15000, shared_mem=60_000)
    seen = [first, o.tolist(), E(lambda: launch(kernel, 1, 256, o, 15500, shared_mem=62_000))]
    return [*seen, E(lambda: kernel.set_shared_memory_config(10_000_000))]


_REFUSED = {"exc": "RuntimeError", "says_error": True}


@case("nvrtc-calls/what_the_compiler_refuses", expect={n: _REFUSED for n in range(14)} | {14: {"exc": None}})
def what_the_compiler_refuses():
    bodies = (
        "x[0] = y;",
        "x[0] = 1.f",
        "float x = 1;",
        "x = 1.f;",
        'int v = "text";',
        "unknown_t v;",
        "x[0] = sinn(1.f);",
        "std::vector<int> v;",
        "x[0] = helper(1.f);",
        "for (int i = 0; i < 3; ++i { }",
        "const int c = 1; c = 2;",
        "x[0] = threadIdx.w;",
        "x.y = 1;",
        "return 1.f;",
        "x[0] = helper(1.f, 2.f);",
    )
    source = """
    __device__ float helper(float a, float b) { return a + b; }
    extern "C" __global__ void k(float* x) {
        BODY
    }"""
    return {n: refused(compiled, source.replace("BODY", body)) for n, body in enumerate(bodies)}


@case(
    "nvrtc-calls/how_a_compile_error_begins",
    expect=["RuntimeError", "Kernel compilation failed:", True, True, True],
)
def how_a_compile_error_begins():
    try:
        compiled('extern "C" __global__ void k(float* x) {\n    x[0] = 1;\n    x[1] = undeclared;\n}')
    except RuntimeError as e:
        text = str(e)
        return [type(e).__name__, text.splitlines()[0], "(3)" in text, "error" in text, "undeclared" in text]


@case("nvrtc-calls/headers_that_are_not_there", expect=[_REFUSED, _REFUSED])
def headers_that_are_not_there():
    kernel = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
    return [refused(compiled, f"#include <{h}>\n{kernel}") for h in ("vector", "no_such_header.h")]


@case(
    "nvrtc-calls/a_kernel_looked_for_under_another_name",
    expect=["RuntimeError", "RuntimeError", "RuntimeError"],
)
def a_kernel_looked_for_under_another_name():
    source = 'extern "C" __global__ void mine(float* x) { x[0] = 1; }\n__device__ void helper(float* x) {}'
    return [E(compiled, source, name).get("exc") for name in ("yours", "helper", "")]


@case("nvrtc-calls/compiled_again_with_another_constant", expect=[2.0, 6.0, 24.0])
def compiled_again_with_another_constant():
    x, seen = torch.ones(1, device=D), []
    for factor in (2, 3, 4):
        kernel = compiled(f'extern "C" __global__ void k(float* x) {{ x[0] *= {factor}; }}')
        launch(kernel, 1, 1, x)
        seen.append(x.item())
    return seen


@case("nvrtc-calls/a_misaligned_float4", expect=[True], alone=True)
def a_misaligned_float4():
    # The whole vector is used: of `x->w` alone the compiler may load the four bytes, which are aligned.
    kernel = compiled('extern "C" __global__ void k(const float4* x, float4* o) { *o = *x; }')
    x, o = F(8), zeros(4)
    outcomes = [E(lambda: launch(kernel, 1, 1, x[1:], o)), E(sync)]
    return ["exc" in outcomes[0] or "exc" in outcomes[1]]


@case("nvrtc-calls/far_out_of_bounds", expect=[None, "AcceleratorError", "AcceleratorError"], alone=True)
def far_out_of_bounds():
    kernel = compiled('extern "C" __global__ void k(float* x) { x[threadIdx.x + (1ll << 42)] = 1; }')
    x = F(8)
    launched = E(lambda: launch(kernel, 1, 32, x)).get("exc")
    return [launched, E(sync).get("exc"), E(lambda: x + 1).get("exc")]
