"""Arrays of other libraries on the device, by `__cuda_array_interface__`."""

import gc
import weakref

import numpy as np
import pytest
import torch

D = "cuda"


class Array:
    """What another library might hand over: memory of a tensor, described anew."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape),
            "typestr": np.dtype(str(tensor.dtype).removeprefix("torch.")).str,
            "data": (tensor.data_ptr(), False),
            "strides": tuple(n * tensor.element_size() for n in tensor.stride()),
            "version": 3,
        } | changes


def floats(*shape):
    return torch.arange(float(np.prod(shape)), device=D).reshape(shape)


@pytest.mark.parametrize("func", [torch.as_tensor, torch.asarray])
def test_memory_is_shared(func):
    x = floats(4)
    t = func(Array(x), device=D)
    t += 1
    assert (t.device, t.dtype, t.data_ptr()) == (x.device, x.dtype, x.data_ptr())
    assert x.tolist() == [1, 2, 3, 4]


def test_tensor_copies():
    x = floats(3)
    t = torch.tensor(Array(x), device=D, requires_grad=True)
    x += 1
    assert t.is_cuda and t.requires_grad and t.tolist() == [0, 1, 2]


@pytest.mark.parametrize("func", [torch.tensor, torch.as_tensor, torch.asarray])
def test_without_a_device_it_comes_to_the_host(func):
    t = func(Array(floats(3)))
    assert not t.is_cuda and t.tolist() == [0, 1, 2]


def test_the_default_device_counts():
    x = floats(3)
    with torch.device(D):
        assert torch.as_tensor(Array(x)).data_ptr() == x.data_ptr()


VIEWS = {
    "columns": lambda x: x[:, 1:3],
    "transposed": lambda x: x.t(),
    "stepped": lambda x: x[::2, ::3],
    "0-d": lambda x: x[1, 1],
    "expanded": lambda x: x[:, 0].expand(6, 4),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_strides_are_kept(view):
    x = view(floats(4, 6))
    t = torch.as_tensor(Array(x), device=D)
    assert (t.shape, t.stride(), t.data_ptr()) == (x.shape, x.stride(), x.data_ptr())
    assert torch.equal(t, x)


def test_no_strides_mean_a_contiguous_array():
    t = torch.as_tensor(Array(floats(2, 3), strides=None), device=D)
    assert t.stride() == (3, 1) and t.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_empty_array():
    t = torch.as_tensor(Array(floats(4), shape=(0, 3), strides=None, data=(0, False)), device=D)
    assert t.is_cuda and t.shape == (0, 3)


def test_the_dtype_may_change():
    x = floats(3)
    t = torch.as_tensor(Array(x), dtype=torch.int64, device=D)
    assert t.is_cuda and t.dtype == torch.int64 and t.data_ptr() != x.data_ptr()


def test_part_of_an_allocation_read_as_other_bytes():
    x = floats(4)
    t = torch.as_tensor(
        Array(x, shape=(2,), typestr="<f8", data=(x.data_ptr() + 4, False), strides=None), device=D
    )
    x[1] = 0.0
    x[2] = 1.875
    assert t[0].item() == 1.0


def test_the_owner_lives_as_long_as_the_tensor():
    array = Array(floats(3))
    owner = weakref.ref(array)
    t = torch.as_tensor(array, device=D)
    del array
    gc.collect()
    assert owner() is not None and t.tolist() == [0, 1, 2]
    del t
    gc.collect()
    assert owner() is None


def test_pinned_memory_is_within_the_devices_reach():
    x = torch.arange(3.0).pin_memory()
    t = torch.as_tensor(Array(x), device=D)
    t += 1
    assert t.is_cuda and x.is_pinned() and x.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"data": (64, True)}, TypeError, "the read only flag is not supported, should always be False"),
        ({"data": 64}, TypeError, "`data` must be a 2-tuple"),
        ({"typestr": "nonsense"}, ValueError, "cannot parse `typestr`"),
        ({"typestr": "<U4"}, TypeError, "can't convert np.ndarray of type numpy.str_"),
        ({"strides": (4, 4)}, TypeError, "strides must be a sequence of the same length as shape"),
        ({"strides": (6,)}, ValueError, "not a multiple of the element byte size"),
    ],
)
def test_what_is_refused(changes, kind, said):
    with pytest.raises(kind, match=said):
        torch.as_tensor(Array(floats(4), **changes), device=D)


def test_memory_of_the_host_is_refused():
    on_host = np.zeros(4, np.float32)
    with pytest.raises(RuntimeError, match="resides on host memory and is not registered"):
        torch.as_tensor(Array(torch.from_numpy(on_host)), device=D)


def test_an_array_is_no_sequence_to_be_aliased():
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        torch.asarray(Array(floats(4)), device=D, copy=False)
