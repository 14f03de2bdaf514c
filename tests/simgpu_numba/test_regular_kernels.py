"""Kernels whose threads touch neighbouring elements: races are found through whatever arguments overlap.

The same compiled kernel is launched with all of them, in turn: nothing of a launch is left for the next.
"""

from __future__ import annotations

import pytest
import torch
from numba import cuda

from grader.simgpu import order

N = 1000


@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i]


@cuda.jit
def copy_reversed(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[out.size - 1 - i]


@cuda.jit
def copy_matrix(x, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[row, column]


@cuda.jit
def odd_ones_twice(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]
        if i % 2:
            out[i - 1] = x[i]


@cuda.jit(device=True)
def put(a, i, value):
    a[i] = value


@cuda.jit
def two_halves(x, out):
    i = cuda.grid(1)
    if i < x.size:
        put(x, i, 1)
    elif i - x.size < out.size:
        put(out, i - x.size, 2)


def races(kernel, *args, grid=8, block=128):
    with order.collect() as found:
        kernel[grid, block](*args)
    assert {f.kind for f in found} <= {"race"}
    return len(found) > 0


def test_views_of_one_memory():
    a, b = torch.arange(N, device="cuda", dtype=torch.float32), torch.zeros(N, device="cuda")
    cases = [
        (a, b, False),
        (a[1:], a[:-1], True),
        (a, a, False),
        (a[:-1], a[1:], True),
        (a[: N // 2], a[N // 2 :], False),
        (a[:600], a[400:], True),
        (a[::2], a[1::2], False),
        (a[::2], a[::2], False),
        (a[:500], a[::2], True),
        (a[::2], a[:500], True),
        (a[:1].expand(N), b, False),  # one for all
        (a[:1].expand(N), a, True),
        (b, a[:1].expand(N), True),
        (a.view(torch.int16)[:N], a[:500], True),  # elements of two sizes
        (a.view(torch.int16)[N:], a[:500], False),
        (a, b, False),
    ]
    got = [races(copy, x, out) for x, out, _ in cases]
    assert got == [expected for _, _, expected in cases]


@pytest.mark.parametrize("kernel", [copy, copy_reversed])
def test_values(kernel):
    x, out = torch.rand(N, device="cuda"), torch.zeros(N, device="cuda")
    assert not races(kernel, x, out)
    assert torch.equal(out, x if kernel is copy else x.flip(0))


def test_reversed_in_place():
    x = torch.rand(N, device="cuda")
    assert races(copy_reversed, x, x)
    assert not races(copy_reversed, x[: N // 2], x[N // 2 :])


@pytest.mark.parametrize("block", [(16, 16), (32, 4), (5, 7)])
def test_matrices(block):
    x, out = torch.rand(40, 50, device="cuda"), torch.zeros(40, 50, device="cuda")
    shape = {"grid": (10, 10), "block": block}
    assert not races(copy_matrix, x, out, **shape)
    assert torch.equal(x, out)
    assert not races(copy_matrix, x, x, **shape)
    assert not races(copy_matrix, x.T, out.T, **shape)
    assert races(copy_matrix, x[1:], x[:-1], **shape)
    assert races(copy_matrix, x[:, 1:], x[:, :-1], **shape)
    assert races(copy_matrix, x[:40, :40].T, x[:40, :40], **shape)


def test_a_second_line_that_some_threads_execute():
    x, out = torch.rand(N, device="cuda"), torch.zeros(N, device="cuda")
    assert races(odd_ones_twice, x, out)


@pytest.mark.parametrize(("low", "expected"), [(500, False), (499, True)])
def test_one_line_that_touches_two_arguments(low, expected):
    """A function that is called from two branches goes on from the one array to the next."""
    a = torch.zeros(N, device="cuda")
    assert races(two_halves, a[:500], a[low:]) == expected
    assert a[:499].eq(1).all() and a[500:999].eq(2).all()
