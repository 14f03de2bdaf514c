"""numba kernels that do not launch, or fail once they run, in numba-cuda's words."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numba import cuda

from . import harness
from .harness import D, E, F, T
from .racing import current, on, sync

case = partial(harness.case, recorded=False)

NO_CONFIGURATION = "\nKernel launch configuration was not specified. Use the syntax:\n"
NOT_THREE = "griddim must be a sequence of 1, 2 or 3 integers, got [1, 1, 1, 1]"


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@case(
    "numba-errors/arguments_that_numba_does_not_take",
    expect=[
        {"exc": "NotImplementedError", "msg": "(unicode_type, 'abc')"},
        {"exc": "NotImplementedError", "msg": "(List(int64, True), [1, 2])"},
        {"exc": "NotImplementedError", "msg": "(none, None)"},
        {"exc": "ValueError", "msg": "Cannot determine Numba type of <class 'dict'>"},
        {"exc": "ValueError", "msg": "Cannot determine Numba type of <class 'function'>"},
        {"exc": "RuntimeError", "msg": "Can't get __cuda_array_interface__ on Variable that requires"},
    ],
)
def arguments_that_numba_does_not_take():
    @cuda.jit
    def kernel(x, anything):
        x[0] = 1

    things = ("abc", [1, 2], None, {}, harness.refused, F(2).requires_grad_())
    return [E(lambda: kernel[1, 1](F(2), thing)) for thing in things]  # noqa: B023


@case(
    "numba-errors/launch_shapes",
    expect=[
        {"exc": "TypeError", "msg": "object of type 'int' has no len()"},
        {"exc": "ValueError", "msg": "must specify at least the griddim and blockdim"},
        {"exc": "ValueError", "msg": "must specify at least the griddim and blockdim"},
        {"exc": "TypeError", "msg": "griddim must be a sequence of integers, got [1.5]"},
        {"exc": "TypeError", "msg": "blockdim must be a sequence of integers, got ['32']"},
        {"exc": "ValueError", "msg": NOT_THREE},
        {"exc": "ValueError", "msg": NO_CONFIGURATION},
        {"exc": "ValueError", "msg": NO_CONFIGURATION},
        {"exc": "ValueError", "msg": "Can't create ForAll with negative task count: -1"},
    ],
)
def launch_shapes():
    x = F(4)
    return [
        E(lambda: add_one[10000](x)),
        E(lambda: add_one[1,](x)),
        E(lambda: add_one[1, 4, 0, 0, 0](x)),
        E(lambda: add_one[1.5, 4](x)),
        E(lambda: add_one[1, "32"](x)),
        E(lambda: add_one[(1, 1, 1, 1), 4](x)),
        E(lambda: add_one[None, 4](x)),
        E(lambda: add_one(x)),
        E(lambda: add_one.forall(-1)),
    ]


@case("numba-errors/too_many_threads_in_a_block", expect=["CUDAError", "CUDAError", "CUDAError", [1.0, 1.0]])
def too_many_threads_in_a_block():
    x = torch.zeros(2, device=D)
    refused = [E(lambda: add_one[1, block](x))["exc"] for block in (1025, (32, 33), (1, 1, 65))]  # noqa: B023
    add_one[1, 1024](x)
    return [*refused, x.tolist()]


@case("numba-errors/more_shared_memory_than_a_block_may_have", expect=[True, True, [1.0, 1.0]])
def more_shared_memory_than_a_block_may_have():
    @cuda.jit
    def fixed(x):
        tile = cuda.shared.array(100_000, np.float64)
        tile[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        x[0] = tile[x.size]

    @cuda.jit
    def sized(x):
        tile = cuda.shared.array(0, np.float64)
        tile[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        x[0] = tile[x.size]

    x = torch.zeros(2, device=D)
    refused = ["exc" in E(lambda: fixed[1, 32](x)), "exc" in E(lambda: sized[1, 32, 0, 800_000](x))]
    add_one[1, 2](x)
    return [*refused, x.tolist()]


@case(
    "numba-errors/device_functions_are_not_kernels",
    expect=[
        {"exc": "ValueError", "msg": NO_CONFIGURATION},
        {"exc": "RuntimeError", "msg": "Cannot compile a device function as a kernel"},
    ],
)
def device_functions_are_not_kernels():
    @cuda.jit(device=True)
    def half(v):
        return v / 2

    return [E(half, 1.0), E(lambda: half[1, 1](1.0))]


@case(
    "numba-errors/device_code_called_by_the_host",
    expect=[{"exc": "NotImplementedError"}, {"exc": "NotImplementedError"}, {"exc": "NotImplementedError"}],
)
def device_code_called_by_the_host():
    return [E(cuda.grid, 1), E(cuda.syncthreads), E(cuda.shared.array, 3, np.float32)]


@case("numba-errors/pytorchs_streams_as_they_are", expect=["TypeError", "TypeError", "TypeError", [1.0, 2.0]])
def pytorchs_streams_as_they_are():
    s, x = torch.cuda.Stream(), F(2)
    refused = [E(lambda: add_one[1, 2, stream](x))["exc"] for stream in (s, s.cuda_stream, "s")]  # noqa: B023
    with on(s):
        s.wait_stream(torch.cuda.default_stream())
        add_one[1, 2, cuda.external_stream(current().cuda_stream)](x)
    sync()
    return [*refused, x.tolist()]


@case("numba-errors/a_python_exception_in_a_plain_kernel_is_lost", expect=[{"ok": None}, [0.0, 5.0, 5.0]])
def a_python_exception_in_a_plain_kernel_is_lost():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i == 0:
            raise ValueError("no")
        x[i] = 5

    x = torch.zeros(3, device=D)
    return [E(lambda: kernel[1, 3](x)), x.tolist()]


@case("numba-errors/one_element_too_far_says_nothing", expect=[{"ok": None}, {"ok": None}, [0.0, 1.0, 2.0]])
def one_element_too_far_says_nothing():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = x[i]

    x, out = F(3), torch.zeros(3, device=D)
    return [E(lambda: kernel[1, 4](x, out)), E(sync), out.tolist()]


@case(
    "numba-errors/a_tensor_of_the_host",
    expect=[{"ok": None}, "AcceleratorError", "AcceleratorError"],
    alone=True,
)
def a_tensor_of_the_host():
    x = torch.ones(1000)
    return [E(lambda: add_one[8, 128](x)), E(sync).get("exc"), E(lambda: F(3) * 2).get("exc")]


@case(
    "numba-errors/far_out_of_bounds",
    expect=[None, "AcceleratorError", "AcceleratorError", "AcceleratorError"],
    alone=True,
)
def far_out_of_bounds():
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1) + 10**13] = 1

    x = F(4)
    launched = E(lambda: kernel[1, 1](x)).get("exc")
    return [launched, E(sync).get("exc"), E(lambda: x.tolist()).get("exc"), E(lambda: T([1.0])).get("exc")]
