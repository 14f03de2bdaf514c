"""What may be passed to a kernel, and how it gets there."""

import warnings

import numpy as np
import pytest
import torch
from numba import cuda

from .packages import NUMBA_CUDA

D = "cuda"


@pytest.fixture
def inc():
    @cuda.jit
    def inc(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    return inc


@pytest.mark.parametrize(
    "dtype",
    ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_tensors_of_every_dtype(inc, dtype):
    x = torch.arange(5, device=D).to(getattr(torch, dtype))
    expected = x + 1
    inc[1, 8](x)
    assert torch.equal(x, expected)


def test_integers_wrap_where_they_are_stored(inc):
    x = torch.tensor([255, 0], dtype=torch.uint8, device=D)
    inc[1, 2](x)
    assert x.tolist() == [0, 1]


def test_bools():
    @cuda.jit
    def f(x, o):
        i = cuda.grid(1)
        o[i] = not x[i]

    x, o = torch.tensor([True, False], device=D), torch.zeros(2, dtype=torch.bool, device=D)
    f[1, 2](x, o)
    assert o.tolist() == [False, True]


@pytest.mark.parametrize("view", ["stepped", "transposed", "offset", "column"])
def test_views_keep_their_strides(view):
    @cuda.jit
    def fill(a):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            a[i, j] = 10 * i + j

    base = torch.zeros(6, 8, device=D)
    part = {
        "stepped": base[::2, 1::3],
        "transposed": base.t(),
        "offset": base[2:, 3:],
        "column": base[:, 2:3],
    }[view]
    fill[(1, 1), (8, 8)](part)
    i, j = torch.meshgrid(*map(torch.arange, part.shape), indexing="ij")
    assert torch.equal(part.cpu(), (10 * i + j).float())
    assert int((base != 0).sum()) == int((part != 0).sum())  # nothing beside it


def test_shape_strides_and_size_inside():
    @cuda.jit
    def look(x, o):
        o[0], o[1], o[2], o[3] = x.shape[0], x.shape[1], x.strides[0], x.strides[1]
        o[4], o[5], o[6], o[7] = x.size, x.ndim, len(x), x.itemsize

    o = torch.zeros(8, dtype=torch.int64, device=D)
    look[1, 1](torch.zeros(3, 4, device=D).t(), o)
    assert o.tolist() == [4, 3, 4, 16, 12, 2, 4, 4]


def test_zero_dimensions_and_no_elements(inc):
    @cuda.jit
    def f(x, o):
        o[0] = x[()] * 2

    o = torch.zeros(1, device=D)
    f[1, 1](torch.tensor(3.5, device=D), o)
    assert o.item() == 7
    inc[1, 1](torch.zeros(0, device=D))


def test_scalars_of_python_and_numpy_and_tuples():
    @cuda.jit
    def f(o, a, b, c, d, t, u):
        o[0] = a + b + c + d
        o[1] = t[0] + t[1] * t[2]
        first, second = u
        o[2] = first * second

    o = torch.zeros(3, dtype=torch.float64, device=D)
    f[1, 1](o, 1, 2.5, np.float32(0.25), np.int8(-3), (1, 2, 3), (1.5, 7))
    assert o.tolist() == [0.75, 7, 10.5]


def test_tuples_of_arrays():
    @cuda.jit
    def f(pair, o):
        i = cuda.grid(1)
        o[i] = pair[0][i] * pair[1][i]

    a, b, o = (torch.arange(4.0, device=D) + k for k in range(3))
    f[1, 4]((cuda.as_cuda_array(a), cuda.as_cuda_array(b)), o)
    assert torch.equal(o, a * b)


def test_host_arrays_are_copied_in_and_out_and_warned_of(inc):
    x = np.arange(4.0)
    with pytest.warns(match="Host array used in CUDA kernel will incur copy overhead to/from device."):
        inc[128, 1](x)
    assert x.tolist() == [1, 2, 3, 4]


NOT_DENSE = {  # what numba-cuda says (the built-in target has one text for all)
    "reversed": (np.arange(10.0)[::-1], "negative memory offsets is ambiguous. The layout's min_off"),
    "column": (np.zeros((4, 3))[:, 1], "too small for the layout. Expected at least 80 bytes, got 32 bytes."),
    "part": (np.zeros((4, 3))[:, :2], "too small for the layout. Expected at least 88 bytes, got 64 bytes."),
    "overlapping": (np.lib.stride_tricks.as_strided(np.arange(3.0), (4, 3), (0, 8)), "non-contiguous buffer"),
}


@pytest.mark.parametrize("which", NOT_DENSE)
@pytest.mark.parametrize("hint", [cuda.In, cuda.Out, cuda.InOut, lambda array: array])
def test_host_arrays_that_are_not_dense_are_refused(which, hint):
    @cuda.jit
    def f(x):
        x.size  # noqa: B018

    array, text = NOT_DENSE[which]
    if not NUMBA_CUDA and which == "overlapping":
        pytest.skip("numba's built-in target takes it")
    expected = text if NUMBA_CUDA else "Array contains non-contiguous buffer and cannot be transferred"
    with pytest.raises(ValueError, match=expected):
        f[1, 1](hint(array))


def test_host_arrays_that_are_dense_in_any_order(inc):
    @cuda.jit
    def number(x):
        i, j = cuda.grid(2)
        x[i, j] = 10 * i + j

    for x in (np.zeros((4, 3))[1:3], np.zeros((4, 3)).T, np.asfortranarray(np.zeros((2, 3)))):
        number[1, x.shape](x)
        assert x.tolist() == [[10 * i + j for j in range(x.shape[1])] for i in range(x.shape[0])]
    inc[1, 1](np.zeros(0)[::-1])


def test_hints_for_copies():
    @cuda.jit
    def f(a, b):
        i = cuda.grid(1)
        b[i] = a[i] + 1
        a[i] = -1

    a, b = np.arange(4.0), np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f[1, 4](cuda.In(a), cuda.Out(b))
    assert a.tolist() == [0, 1, 2, 3]
    assert b.tolist() == [1, 2, 3, 4]


def test_a_kernel_takes_many_types_and_compiles_once_for_each(inc):
    for x in (
        torch.zeros(2, device=D),
        torch.zeros(2, dtype=torch.int64, device=D),
        torch.zeros(4, device=D)[::2],
    ):
        inc[1, 2](x)
        inc[1, 2](x)
        assert x.tolist() == [2, 2]
    assert len(inc.signatures) == len(inc.overloads) == 3


# ------------------------------------------------------------------ numba's own arrays


def test_device_arrays(inc):
    d = cuda.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert (d.shape, d.dtype, d.size, d.ndim) == ((2, 3), np.float32, 6, 2)
    inc[1, 6](d.ravel())
    np.testing.assert_array_equal(d.copy_to_host(), np.arange(1, 7).reshape(2, 3))
    assert d[1, 2] == 6
    d[0] = 9
    np.testing.assert_array_equal(d[:, 0].copy_to_host(), [9, 4])
    np.testing.assert_array_equal(d.reshape(3, 2).copy_to_host()[0], [9, 9])
    np.testing.assert_array_equal(d.T.copy_to_host(), d.copy_to_host().T)
    like = cuda.device_array_like(d)
    like.copy_to_device(d)
    host = np.zeros((2, 3), dtype=np.float32)
    assert like.copy_to_host(host) is host and host[1, 1] == 5
    assert np.asarray(cuda.device_array(3, np.int16).copy_to_host()).dtype == np.int16


def test_mistakes_with_device_arrays():
    d = cuda.to_device(np.arange(4, dtype=np.float32))
    for call, kind, text in (
        (
            lambda: d.copy_to_device(np.zeros(3, dtype=np.float32)),
            ValueError,
            "incompatible shape: (4,) vs. (3,)",
        ),
        (lambda: d.copy_to_host(np.zeros(4)), TypeError, "incompatible dtype: float32 vs. float64"),
        (lambda: d[10], IndexError, ""),
        (lambda: d.reshape(3, 2), ValueError, "reshape changes the size of the array"),
        (lambda: d + d, TypeError, "unsupported operand type(s) for +: 'DeviceNDArray' and 'DeviceNDArray'"),
    ):
        with pytest.raises(kind) as error:
            call()
        assert str(error.value) == text


def test_tensors_as_cuda_arrays():
    for t in (torch.arange(6.0, device=D).view(2, 3), torch.arange(6.0, device=D).view(2, 3).t(),
              torch.arange(6.0, device=D)[1::2], torch.tensor(5, device=D),
              torch.zeros(3, device=D).half()):  # fmt: skip
        a = cuda.as_cuda_array(t)
        assert a.shape == tuple(t.shape)
        assert a.strides == tuple(s * t.element_size() for s in t.stride())
        assert a.__cuda_array_interface__["data"][0] == t.data_ptr()
        np.testing.assert_array_equal(a.copy_to_host(), t.cpu().numpy())
    assert cuda.is_cuda_array(torch.zeros(1, device=D)) and not cuda.is_cuda_array(torch.zeros(1))
    for wrong in (torch.ones(2), np.ones(2), None):
        with pytest.raises(TypeError, match="doesn't implement the cuda array interface."):
            cuda.as_cuda_array(wrong)


def test_a_cuda_array_is_a_view(inc):
    t = torch.zeros(4, device=D)
    inc[1, 4](cuda.as_cuda_array(t))
    assert t.tolist() == [1] * 4


def test_pinned_and_mapped_memory(inc):
    pinned = cuda.pinned_array(4, dtype=np.float32)
    pinned[:] = 3
    d = cuda.to_device(pinned)
    inc[1, 4](d)
    d.copy_to_host(pinned)
    assert pinned.tolist() == [4] * 4
    mapped = cuda.mapped_array(4, dtype=np.float32)
    mapped[:] = 5
    inc[1, 4](mapped)
    cuda.synchronize()
    assert mapped.tolist() == [6] * 4


def test_memory_is_given_back():
    import gc

    from grader.simgpu.numba.state import state

    cuda.to_device(np.zeros(10))
    gc.collect()
    cuda.current_context().deallocations.clear()
    before = len(state.memory)
    for _ in range(20):
        cuda.to_device(np.zeros(1000))
    gc.collect()
    cuda.current_context().deallocations.clear()
    assert len(state.memory) <= before


def test_more_memory_than_the_device_has():
    with pytest.raises(Exception, match="CUDA_ERROR_OUT_OF_MEMORY"):
        cuda.device_array(200 << 30, dtype=np.uint8)


def test_the_device():
    assert cuda.is_available() and cuda.detect()
    device = cuda.get_current_device()
    assert device.compute_capability == (9, 0)
    assert (device.MULTIPROCESSOR_COUNT, device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK) == (132, 32, 1024)
    assert len(cuda.gpus) == 1 and cuda.current_context().device.id == 0
    free, total = cuda.current_context().get_memory_info()
    assert 0 < free <= total
