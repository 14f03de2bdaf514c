"""numba kernels: views, arrays on the device, of the host and pinned."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numba import cuda

from . import harness
from .harness import D, F

case = partial(harness.case, recorded=False)


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i]


@case("numba-data/views_that_are_not_contiguous", expect=[True, True, True, True, True, [-1.0]])
def views_that_are_not_contiguous():
    @cuda.jit
    def copy(x, out):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            out[i, j] = x[i, j]

    x, right = F(48).view(6, 8), []
    for view in (x[::2, 1::3], x.t(), x[:, 3:4], x[5].expand(4, 8), x.view(2, 3, 8)[1]):
        rows, columns = view.shape
        out = torch.full((16, 16), -1.0, device=D)
        copy[(4, 4), (4, 4)](view, out[1 : 1 + rows, 2 : 2 + columns])
        right.append(torch.equal(out[1 : 1 + rows, 2 : 2 + columns], view))
    return [*right, out[15].unique().tolist()]


@case(
    "numba-data/arrays_of_the_host_are_carried_both_ways", expect=[[1.0, 2.0, 3.0], [0.0, 2.0, 4.0], [1, 5]]
)
def arrays_of_the_host_are_carried_both_ways():
    @cuda.jit
    def kernel(x, y, n):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1
            y[i] = 2 * i
        if i == 0:
            n[1] = 5

    x, y, n = np.arange(3, dtype=np.float32), np.zeros(3), np.array([1, 2])
    kernel[1, 32](x, y, n)
    return [x.tolist(), y.tolist(), n.tolist()]


@case(
    "numba-data/arrays_on_the_device",
    expect=[
        [3, 2],
        "float32",
        [8, 4],
        6,
        24,
        2,
        [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]],
        [4.0, 6.0],
        [0.0, 4.0, 8.0],
        [[0.0, 4.0, 8.0]],
        10.0,
    ],
)
def arrays_on_the_device():
    d = cuda.to_device(np.arange(6, dtype=np.float32).reshape(3, 2))
    out = cuda.device_array_like(d)
    double[1, 32](d.ravel(), out.ravel())
    h = out.copy_to_host()
    told = [list(d.shape), d.dtype.name, list(d.strides), d.size, d.nbytes, d.ndim]
    parts = [out[1].copy_to_host(), out[:, 0].copy_to_host(), out.T[:1].copy_to_host()]
    return [*told, h.tolist(), *(p.tolist() for p in parts), float(out[2, 1])]


@case(
    "numba-data/filling_arrays_on_the_device",
    expect=[[1.0, 1.0, 7.0, 7.0], [9.0, 9.0, 9.0, 9.0], [2.0, 2.0, 14.0, 14.0]],
)
def filling_arrays_on_the_device():
    d = cuda.device_array(4, dtype=np.float32)
    d[:] = 1
    d[2:] = 7
    e = cuda.to_device(np.full(4, 9, dtype=np.float32))
    first, second = d.copy_to_host(), e.copy_to_host()
    e.copy_to_device(d)
    out = cuda.device_array_like(e)
    double[1, 4](e, out)
    return [first.tolist(), second.tolist(), out.copy_to_host().tolist()]


@case("numba-data/host_memory_that_is_pinned", expect=[[0.0, 2.0, 4.0], "float64", True])
def host_memory_that_is_pinned():
    h = cuda.pinned_array(3, dtype=np.float64)
    h[:] = np.arange(3)
    d = cuda.to_device(h)
    out = cuda.device_array_like(d)
    double[1, 3](d, out)
    out.copy_to_host(h)
    return [h.tolist(), h.dtype.name, isinstance(h, np.ndarray)]


@case(
    "numba-data/a_tensor_and_its_array_share_memory",
    expect=[[5.0, 6.0], [6.0, 8.0, 10.0], [6.0, 8.0, 10.0], True],
)
def a_tensor_and_its_array_share_memory():
    x = F(3, 3.0)
    a = cuda.as_cuda_array(x)
    double[1, 3](a, a)
    y = torch.as_tensor(cuda.to_device(np.array([5.0, 6.0])), device=D)
    return [y.tolist(), x.tolist(), a.copy_to_host().tolist(), y.is_cuda]
