"""What numba and CUDA refuse."""

import numpy as np
import pytest
import torch
from numba import cuda, float32

from .packages import NUMBA_CUDA, needs_numba_cuda

D = "cuda"


@pytest.fixture
def inc():
    @cuda.jit
    def inc(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    return inc


def error_of(call):
    with pytest.raises(Exception) as error:
        call()
    return error.value


# ------------------------------------------------------------------ shapes of launches


@pytest.mark.parametrize("shape", [(2, 4), ((2,), (4,)), ((2, 1), (4, 1, 1))], ids=str)
def test_shapes_that_are_taken(inc, shape):
    x = torch.zeros(8, device=D)
    inc[shape](x)
    assert x.tolist() == [1] * 8


@pytest.mark.parametrize(
    ("shape", "kind", "text"),
    [
        (10000, TypeError, "object of type 'int' has no len()"),
        (([2], [4]), TypeError, "unhashable type: 'list'"),
        ((1.5, 2), TypeError, "griddim must be a sequence of integers, got [1.5]"),
        (((1, 1, 1, 1), 2), ValueError, "griddim must be a sequence of 1, 2 or 3 integers, got [1, 1, 1, 1]"),
        ((1,), ValueError, "must specify at least the griddim and blockdim"),
    ],
    ids=str,
)
def test_shapes_that_are_no_shapes(inc, shape, kind, text):
    error = error_of(lambda: inc[shape](torch.zeros(1, device=D)))
    assert type(error) is kind and str(error) == text


@pytest.mark.parametrize(
    "shape", [(1, 1025), (1, 2048), (1, (1, 1, 65)), (1, (32, 33)), ((1, 65536), 1), (1, 0)], ids=str
)
def test_shapes_beyond_the_device(inc, shape):
    x = torch.zeros(4, device=D)
    error = error_of(lambda: inc[shape](x))
    if NUMBA_CUDA and 0 not in shape:
        assert type(error).__name__ == "CUDAError"
        assert str(error).startswith("CUDA_ERROR_INVALID_VALUE: ")
    elif not NUMBA_CUDA:
        assert str(error) == "[1] Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE"
    inc[1, 4](x)  # a refused launch does no harm
    assert x.tolist() == [1] * 4


@needs_numba_cuda
def test_numpy_integers_in_a_tuple_are_refused(inc):
    text = "LaunchConfig.grid must be an int, or a tuple with up to 3 ints (got (np.int64(2), 1, 1))"
    x = torch.zeros(8, device=D)
    assert str(error_of(lambda: inc[(np.int64(2),), 4](x))) == text
    inc[2, 4](x)
    inc[np.int64(2), np.int32(4)](x)  # equal to the shape before, which numba remembers
    assert x.tolist() == [2] * 8


def test_too_much_shared_memory():
    @cuda.jit
    def big(x):
        s = cuda.shared.array(20000, float32)
        s[0] = 1
        x[0] = s[0]

    @cuda.jit
    def small(x):
        x[0] = 1

    assert "uses too much shared data (0x13880 bytes, 0xc000 max)" in str(
        error_of(lambda: big[1, 1](np.zeros(1)))
    )
    assert "CUDA_ERROR_INVALID_VALUE" in str(error_of(lambda: small[1, 1, 0, 60_000](np.zeros(1))))


def reversal(n):
    @cuda.jit
    def f(x):
        own = cuda.local.array(n, np.int32)
        for i in range(n):
            own[i] = i + cuda.threadIdx.x
        x[cuda.threadIdx.x] = own[n - 1 - x[cuda.threadIdx.x]]

    return f


def test_as_much_local_memory_as_a_thread_may_have():
    n = (512 << 10) // 4
    x = torch.arange(40, dtype=torch.int64, device="cuda")
    reversal(n)[1, 40](x)
    assert x.tolist() == [n - 1] * 40


def test_too_much_local_memory():
    with pytest.raises(Exception, match=r"uses too much local data \(0x80004 bytes, 0x80000 max\)"):
        reversal((512 << 10) // 4 + 1)[1, 1](torch.zeros(1, dtype=torch.int64, device="cuda"))


def test_too_many_blocks_for_a_grid_that_meets():
    @cuda.jit
    def f(x):
        cuda.cg.this_grid().sync()

    assert "COOPERATIVE_LAUNCH_TOO_LARGE" in str(error_of(lambda: f[132 * 2 + 1, 1024](np.zeros(1))))


def test_no_configuration(inc):
    assert "Kernel launch configuration was not specified" in str(error_of(lambda: inc(np.zeros(1))))


def test_the_number_of_arguments(inc):
    kind, text = TypeError, "Signature mismatch: {} argument types given, but function takes 1 arguments"
    for many in (0, 2):
        error = error_of(lambda: inc[1, 1](*[torch.zeros(1, device=D)] * many))  # noqa: B023
        assert type(error) is kind and str(error) == text.format(many)
    assert "unexpected keyword argument 'b'" in str(error_of(lambda: inc[1, 1](b=1)))


# ------------------------------------------------------------------ the language


def returns_a_value(x):
    return x[0]


def returns_one(x):
    return 1


def unknown_name(x):
    x[0] = no_such_name  # noqa: F821


def calls_python(x):
    x[0] = plain(x[0])


def plain(v):
    return v


def makes_a_list(x):
    a = [1, 2]
    x[0] = a[0]


def comprehension(x):
    a = [v for v in range(3)]
    x[0] = a[0]


def makes_a_dict(x):
    d = {1: 2}
    x[0] = d[1]


def makes_a_set(x):
    d = {1, 2}
    x[0] = len(d)


def calls_torch(x):
    x[0] = torch.sum(x)


def allocates(x):
    a = np.zeros(3)
    x[0] = a[0]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (returns_a_value, ""),
        (returns_one, "No conversion from Literal[int](1) to none for"),
        (unknown_name, "NameError: name 'no_such_name' is not defined"),
        (calls_python, "Untyped global name 'plain': Cannot determine Numba type of <class"),
        (makes_a_list, ""),
        (comprehension, "Unknown attribute 'append' of type list(undefined)"),
        (makes_a_dict, "No implementation of function"),
        (makes_a_set, ""),
        (calls_torch, ""),
        (allocates, ""),
    ],
)
def test_what_a_kernel_may_not_do(body, text):
    x = torch.zeros(4, device=D)
    error = error_of(lambda: cuda.jit(body)[1, 1](x))
    assert text in str(error)
    assert x.tolist() == [0] * 4


def test_a_signature_with_a_result():
    error = error_of(lambda: cuda.jit("float32(float32[:])")(returns_a_value))
    assert type(error) is TypeError and str(error) == "CUDA kernel must have void return type."


def test_barriers_count_integers_only():
    @cuda.jit
    def f(x, o):
        o[0] = cuda.syncthreads_count(x[cuda.threadIdx.x] > 0)

    assert type(error_of(lambda: f[1, 4](np.zeros(4), np.zeros(1)))).__name__ == "TypingError"


def test_raise_in_a_debug_kernel_and_in_another():
    def loud(x):
        i = cuda.grid(1)
        if i == 1:
            raise ValueError("no")
        x[i] = 5

    x = torch.zeros(3, device=D)
    error = error_of(lambda: cuda.jit(debug=True, opt=False)(loud)[1, 3](x))
    assert type(error) is ValueError
    assert "In function 'loud'" in str(error) and "tid=[0, 0, 1] ctaid=[0, 0, 0]: no" in str(error)
    x = torch.zeros(3, device=D)
    cuda.jit(loud)[1, 3](x)  # only a debug kernel tells; the thread ends all the same
    assert x.tolist() == [5, 0, 5]


# ------------------------------------------------------------------ arguments


@pytest.mark.parametrize("value", ["a", [1, 2], None, {}], ids=repr)
def test_values_that_are_no_arguments(inc, value):
    error = error_of(lambda: inc[1, 1](value))
    assert type(error) is not AttributeError or "size" in str(error)


def test_tensors_that_require_grad_are_refused(inc):
    error = error_of(lambda: inc[1, 1](torch.zeros(2, device=D, requires_grad=True)))
    assert type(error) is RuntimeError
    assert str(error).startswith("Can't get __cuda_array_interface__ on Variable that requires grad.")


def test_bfloat16_is_refused(inc):
    error = error_of(lambda: inc[1, 1](torch.zeros(2, device=D).bfloat16()))
    assert "NotImplementedError" in type(error).__name__  # numba has a class of its own for it


def test_one_signature_is_taken_at_its_word():
    @cuda.jit("void(float32[:], int32)")
    def f(x, n):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += n

    x = torch.zeros(3, device=D)
    f[1, 3](x, 5)
    assert x.tolist() == [5] * 3
    y = torch.ones(2, device=D, dtype=torch.float64)
    f[1, 2](y, 5)  # its bytes are taken for float32 numbers
    assert y.view(torch.float32)[0].item() == 5.0
    assert str(error_of(lambda: f[1, 3](x, 2.9))) == "'float' object cannot be interpreted as an integer"


def test_streams_that_are_none(inc):
    x, s = torch.zeros(4, device=D), torch.cuda.Stream()
    for wrong in (s, "s", 1.5):
        assert isinstance(error_of(lambda: inc[1, 4, wrong](x)), (TypeError, AttributeError))  # noqa: B023
    if NUMBA_CUDA:
        text = "Expected a Stream object, ExperimentalStream, GraphBuilder, or 0, got Stream"
        assert str(error_of(lambda: inc[1, 4, s](x))) == text
    for wrong in (s, None, 1.5):
        error = error_of(lambda: cuda.external_stream(wrong))  # noqa: B023
        assert str(error) == "ptr for external stream must be an int"
    assert x.tolist() == [0] * 4
