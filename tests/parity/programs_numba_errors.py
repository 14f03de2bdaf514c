"""numba kernels that do not compile, in numba-cuda's words."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch
from numba import cuda

from . import harness
from .harness import D, E, F

case = partial(harness.case, recorded=False)

PIPELINE = "Failed in cuda mode pipeline (step: nopython frontend)\n"


def launching(kernel, *args):
    """What a launch of the plain function `kernel` with one thread raises."""
    return E(lambda: cuda.jit(kernel)[1, 1](*args))


def typing(words):
    return {"exc": "TypingError", "msg": words}


def no_function(name):
    return typing(f"No implementation of function Function(<built-in function {name}>) found for signature:")


@case(
    "numba-errors/unknown_names",
    expect=[
        typing(PIPELINE + "NameError: name 'undefined' is not defined"),
        typing(PIPELINE + "NameError: name 'threadIdx' is not defined"),
        typing(PIPELINE + "Unknown attribute 'nosuch' of type array(float32, 1d, C)"),
        typing(PIPELINE + "Unknown attribute 'w' of type Dim3"),
        {"exc": "AttributeError", "msg": "module 'math' has no attribute 'nosuch'"},
    ],
)
def unknown_names():
    def undefined_name(x):
        x[0] = undefined  # noqa: F821

    def bare_thread_index(x):
        x[0] = threadIdx.x  # noqa: F821

    def attribute_of_an_array(x):
        x[0] = x.nosuch

    def attribute_of_an_index(x):
        x[0] = cuda.threadIdx.w

    def function_of_a_module(x):
        x[0] = math.nosuch(x[0])

    wrong = (undefined_name, bare_thread_index, attribute_of_an_array, attribute_of_an_index)
    return [launching(f, F(2)) for f in (*wrong, function_of_a_module)]


@case(
    "numba-errors/torch_inside_a_kernel",
    expect=[typing(PIPELINE + "Unknown attribute 'sin' of type Module(<module 'torch' from")] * 2,
)
def torch_inside_a_kernel():
    def of_an_element(x):
        x[0] = torch.sin(x[0])

    def of_the_array(x):
        x[:] = torch.sin(x)

    return [launching(f, F(2)) for f in (of_an_element, of_the_array)]


@case(
    "numba-errors/lists_dicts_and_sets",
    expect=[
        {"exc": "NumbaRuntimeError"},
        typing(PIPELINE + "Unknown attribute 'append' of type list(undefined)<iv=None>"),
        typing(PIPELINE + "Unknown attribute 'append' of type list(undefined)<iv=None>"),
        no_function("getitem"),
        no_function("zeros"),
    ],
)
def lists_dicts_and_sets():
    def of_known_length(x):
        v = [1.0, 2.0]
        x[0] = v[0]

    def growing(x):
        v = []
        v.append(x[0])
        x[1] = v[0]

    def comprehension(x):
        x[0] = sum([i for i in range(3)])

    def dictionary(x):
        v = {1: 2.0}
        x[0] = v[1]

    def numpy_array(x):
        v = np.zeros(3)
        x[0] = v[0]

    return [launching(f, F(2)) for f in (of_known_length, growing, comprehension, dictionary, numpy_array)]


@case(
    "numba-errors/a_kernel_returns_nothing",
    expect=[
        typing(PIPELINE + "No conversion from float32 to none"),
        typing(PIPELINE + "No conversion from Literal[int](1) to none"),
        {"exc": "TypeError", "msg": "CUDA kernel must have void return type."},
    ],
)
def a_kernel_returns_nothing():
    def always(x):
        return x[0]

    def on_one_branch(x):
        if x[0] > 0:
            return 1

    return [
        launching(always, F(2)),
        launching(on_one_branch, F(2)),
        E(lambda: cuda.jit("float32(float32[:])")(always)),
    ]


@case(
    "numba-errors/wrong_indices",
    expect=[no_function("setitem"), no_function("setitem"), no_function("setitem"), no_function("setitem")],
)
def wrong_indices():
    def a_float(x):
        x[1.0] = 1

    def too_many(x):
        x[0, 0] = 1

    def an_array_for_a_value(x):
        x[0] = x

    def the_whole_thread_index(x):
        x[0] = cuda.threadIdx

    return [launching(f, F(2)) for f in (a_float, too_many, an_array_for_a_value, the_whole_thread_index)]


@case("numba-errors/writing_to_a_captured_array", expect=[[5.0, 0.0], no_function("setitem")])
def writing_to_a_captured_array():
    table = np.array([5.0, 6.0])

    @cuda.jit
    def reads(x):
        x[0] = table[0]

    def writes(x):
        table[1] = x[0]

    x = torch.zeros(2, device=D)
    reads[1, 1](x)
    return [x.tolist(), launching(writes, x)]


@case(
    "numba-errors/sizes_that_are_not_constant",
    expect=[
        typing("No implementation of function Function(<function shared.array"),
        typing("No implementation of function Function(<function local.array"),
        typing("No implementation of function Function(<intrinsic grid>) found for signature:"),
        {"exc": "ValueError", "msg": "argument can only be 1, 2, 3"},
    ],
)
def sizes_that_are_not_constant():
    def shared(x):
        tile = cuda.shared.array(x.size, np.float32)
        tile[0] = 1
        x[0] = tile[0]

    def local(x):
        mine = cuda.local.array(x.size, np.float32)
        mine[0] = 1
        x[0] = mine[0]

    def dimensions(x):
        n = x.size
        x[0] = cuda.grid(n)

    def four(x):
        x[0] = cuda.grid(4)

    short = [launching(f, F(2)) for f in (shared, local)]
    for e in short:
        e["msg"] = e["msg"].split(" at ")[0]
    return [*short, launching(dimensions, F(2)), launching(four, F(2))]


@case(
    "numba-errors/what_python_has_and_a_kernel_has_not",
    expect=["UnsupportedBytecodeError", "UnsupportedBytecodeError", "UnsupportedBytecodeError"],
)
def what_python_has_and_a_kernel_has_not():
    def importing(x):
        import time

        x[0] = time.time()

    def a_class(x):
        class Thing:
            pass

        x[0] = 1

    def a_file(x):
        with open("f") as f:
            x[0] = f

    return [launching(f, F(2))["exc"] for f in (importing, a_class, a_file)]
