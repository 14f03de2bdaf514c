"""Simulated tensors: made, moved, looked at."""

import copy
import io
import pickle
import threading

import numpy as np
import pytest
import torch

from grader import simgpu

D = "cuda"


def on_device(t):
    return isinstance(t, simgpu.SimTensor) and t.is_cuda and str(t.device) == "cuda:0"


MADE = {
    "zeros": lambda: torch.zeros(2, 3, device=D),
    "index": lambda: torch.zeros(2, device=0),
    "device object": lambda: torch.ones(2, device=torch.device("cuda", 0)),
    "tensor": lambda: torch.tensor([[1, 2]], device=D),
    "as_tensor": lambda: torch.as_tensor(np.ones(2), device=D),
    "asarray": lambda: torch.asarray([1.5], device=D),
    "eye": lambda: torch.eye(2, device=D),
    "arange": lambda: torch.arange(3, device=D),
    "linspace": lambda: torch.linspace(0, 1, 3, device=D),
    "rand": lambda: torch.rand(2, device=D),
    "randint": lambda: torch.randint(3, (2,), device=D),
    "randperm": lambda: torch.randperm(3, device=D),
    "normal": lambda: torch.normal(0.0, 1.0, (2,), device=D),
    "tril_indices": lambda: torch.tril_indices(2, 2, device=D),
    "window": lambda: torch.hann_window(4, device=D),
    "fftfreq": lambda: torch.fft.fftfreq(4, device=D),
    "zeros_like": lambda: torch.zeros_like(torch.ones(2), device=D),
    "new_zeros": lambda: torch.ones(1).new_zeros(2, device=D),
    "new_zeros index": lambda: torch.ones(1).new_zeros(2, device=0),
    "new_tensor": lambda: torch.ones(1).new_tensor([2.0], device=D),
    "to": lambda: torch.ones(2).to(D),
    "to index": lambda: torch.ones(2).to(0),
    "to keyword": lambda: torch.ones(2).to(device=D, dtype=torch.float16, non_blocking=True, copy=True),
    "to other": lambda: torch.ones(2).to(torch.ones(1, device=D)),
    "cuda": lambda: torch.ones(2).cuda(),
    "cuda index": lambda: torch.ones(2).cuda(0, non_blocking=True),
    "type": lambda: torch.ones(2).type(torch.cuda.HalfTensor),
    "legacy": lambda: torch.cuda.FloatTensor([1.0, 2.0]),
    "op": lambda: torch.ones(2, device=D) * 2,
    "view": lambda: torch.ones(2, 2, device=D).t()[1:],
    "aten": lambda: torch.ops.aten.zeros([2], device=torch.device(D)),
    "script": lambda: torch.jit.CompilationUnit("def f():\n  return torch.zeros(3, device='cuda')\n").f(),
}


@pytest.mark.parametrize("name", MADE)
def test_is_on_the_device(name):
    assert on_device(MADE[name]())


ON_HOST = {
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "to device, dtype": lambda x: x.to(torch.device("cpu"), torch.float64),
    "to other": lambda x: x.to(torch.ones(1)),
    "type": lambda x: x.type(torch.FloatTensor),
    "zeros_like": lambda x: torch.zeros_like(x, device="cpu"),
    "new_zeros": lambda x: x.new_zeros(2, device="cpu"),
    "tensor": lambda x: torch.tensor(x, device="cpu"),
    "as_tensor": lambda x: torch.as_tensor(x, device="cpu"),
}


@pytest.mark.parametrize("name", ON_HOST)
def test_comes_back_to_the_host_as_a_copy(name):
    x = torch.ones(2, device=D)
    c = ON_HOST[name](x)
    assert type(c) is torch.Tensor and not c.is_cuda
    c.fill_(7)
    assert x.tolist() == [1, 1]


def test_no_copy_where_nothing_changes():
    x = torch.ones(2, device=D)
    for same in (
        x.to(D),
        x.to("cuda:0"),
        x.cuda(),
        x.to(torch.float32),
        x.float(),
        x.contiguous(),
        torch.as_tensor(x),
    ):
        assert same is x
    assert x.to(D, copy=True) is not x


@pytest.mark.parametrize(
    "make",
    [lambda d: torch.zeros(1, device=d), lambda d: torch.ones(1).to(d), lambda d: torch.ones(1).cuda(d)],
)
def test_there_is_one_device(make):
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
        make("cuda:1")


def test_a_request_that_fits_nowhere_is_out_of_memory():
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 4096.00 GiB"):
        torch.zeros(2**40, device=D)
    with pytest.raises(torch.OutOfMemoryError):
        # More than can be addressed: some machines promise any memory that can.
        torch.ones(2**24, device=D).expand(2**24, 2**24).clone()


def test_pinning():
    assert torch.ones(3).pin_memory().is_pinned()
    assert torch.empty(3, pin_memory=True)[1:].is_pinned()
    assert not torch.ones(3).is_pinned()
    assert not torch.ones(3, device=D).is_pinned()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.zeros(2, device=D, pin_memory=True)
    batch = next(iter(torch.utils.data.DataLoader([torch.ones(2)] * 4, batch_size=2, pin_memory=True)))
    assert batch.is_pinned()


def test_default_device():
    torch.set_default_device(D)
    try:
        made = (
            torch.zeros(2),
            torch.tensor([1.0]),
            torch.nn.Linear(2, 2).weight,
            torch.rand(2),
            torch.as_tensor([1]),
        )
        host = torch.zeros(1, device="cpu")
    finally:
        torch.set_default_device(None)
    assert all(map(on_device, made)) and not host.is_cuda
    with torch.device(D):
        assert on_device(torch.arange(3))
    assert not torch.zeros(1).is_cuda


def test_moves_are_the_same_under_a_default_device():
    x, host = torch.ones(3, device=D), torch.ones(3)

    def copies():
        with simgpu.recording() as trace:
            assert x.to(D) is x and x.to(D, torch.float32) is x and x.cuda() is x
            x.cpu(), x.to("cpu"), x.tolist(), host.to(D), host.cuda(), x.copy_(host), host.copy_(x)
        return [copy.direction for copy in trace.copies]

    with torch.device(D):
        under = copies()
    assert under == copies() and set(under) == {"d2h", "h2d"}


def test_threads_see_the_device():
    seen = []
    t = threading.Thread(target=lambda: seen.append((torch.zeros(2, device=D) + 1).device))
    t.start()
    t.join()
    assert [str(d) for d in seen] == ["cuda:0"]


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: torch.tensor([1.0, 2.0], device=D), "tensor([1., 2.], device='cuda:0')"),
        (
            lambda: torch.ones(1, device=D, requires_grad=True),
            "tensor([1.], device='cuda:0', requires_grad=True)",
        ),
        (
            lambda: torch.ones(1, device=D, requires_grad=True) * 2,
            "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)",
        ),
        (
            lambda: torch.tensor(3, device=D, dtype=torch.int32),
            "tensor(3, device='cuda:0', dtype=torch.int32)",
        ),
        (lambda: torch.empty(0, 2, device=D), "tensor([], device='cuda:0', size=(0, 2))"),
        (
            lambda: torch.nn.Parameter(torch.ones(1, device=D)),
            "Parameter containing:\ntensor([1.], device='cuda:0', requires_grad=True)",
        ),
    ],
)
def test_printing(make, shown):
    assert repr(make()) == shown


def test_formatting():
    assert f"{torch.tensor(1.234, device=D):.1f}" == "1.2"
    assert str(type(torch.ones(1, device=D))) == "<class 'torch.Tensor'>"


@pytest.mark.parametrize("look", [lambda x: x.numpy(), np.asarray, np.array, np.sin])
def test_numpy_may_not_look(look):
    with pytest.raises(
        TypeError, match=r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy"
    ):
        look(torch.ones(2, device=D))


def test_python_values():
    x = torch.tensor([1.5, 2.0], device=D)
    assert (x.tolist(), x[0].item(), float(x[1]), int(x[1]), bool(x[0]), len(x), [v.item() for v in x]) == (
        [1.5, 2.0],
        1.5,
        2.0,
        2,
        True,
        2,
        [1.5, 2.0],
    )
    assert [1, 2, 3][torch.tensor(2, device=D)] == 3
    assert 2.0 in x and x in {x}


def test_array_interface():
    face = torch.ones(3, 2, device=D).t().__cuda_array_interface__
    assert face["typestr"] == "<f4" and face["shape"] == (2, 3) and face["strides"] == (4, 8)


def test_views_share_memory():
    x = torch.zeros(2, 3, device=D)
    x[0, 1:].add_(5)
    x.view(-1)[3] = 7
    assert x.tolist() == [[0, 5, 5], [7, 0, 0]]


@pytest.mark.parametrize(
    "through",
    [
        copy.deepcopy,
        lambda v: (lambda b: (torch.save(v, b), b.seek(0), torch.load(b))[2])(io.BytesIO()),
    ],
)
def test_copies_and_files_keep_the_device_and_shared_memory(through):
    x = torch.arange(4.0, device=D)
    a, b = through([x, x[1:]])
    assert on_device(a) and on_device(b) and torch.equal(a, x)
    a[1] = 50
    assert b[0].item() == 50 and x[1].item() == 1


def test_pickle():
    x = pickle.loads(pickle.dumps(torch.arange(4.0, device=D)[1:]))
    assert on_device(x) and x.tolist() == [1, 2, 3]
    assert type(pickle.loads(pickle.dumps(torch.nn.Linear(1, 1).cuda())).weight).__name__ == "Parameter"


@pytest.mark.parametrize(
    ("saved", "where", "device"),
    [(D, "cpu", "cpu"), ("cpu", D, "cuda:0"), (D, None, "cuda:0"), (D, {"cuda:0": "cpu"}, "cpu")],
)
def test_load_to_a_named_device(saved, where, device):
    b = io.BytesIO()
    torch.save({"w": torch.ones(2, device=saved)}, b)
    b.seek(0)
    assert str(torch.load(b, map_location=where)["w"].device) == device


def test_copies_for_checks_keep_the_layout():
    base = torch.arange(12.0).view(3, 4)
    for t in (
        base,
        base.t(),
        base[1:, ::2],
        base[0].expand(2, 4),
        base.to(torch.complex64).conj(),
        torch.empty(0, 3),
    ):
        x = simgpu.to_device(t)
        assert on_device(x)
        assert (x.stride(), x.storage_offset(), x.is_conj()) == (t.stride(), t.storage_offset(), t.is_conj())
        assert x.untyped_storage().nbytes() == t.untyped_storage().nbytes()
        back = simgpu.to_host(x)
        assert type(back) is torch.Tensor and back.stride() == t.stride() and torch.equal(back, t)
        assert back.data_ptr() != x.data_ptr() or not t.numel()


def test_type_names():
    x = torch.ones(1, device=D)
    assert x.type() == "torch.cuda.FloatTensor" and x.half().type() == "torch.cuda.HalfTensor"
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(torch.ones(1), torch.cuda.FloatTensor)
    assert x.untyped_storage().device.type == "cuda"


def test_legacy_types_tell_the_devices_apart():
    x, host = torch.ones(2, device=D), torch.ones(2)
    assert isinstance(host, torch.FloatTensor) and not isinstance(host, torch.LongTensor)
    assert not isinstance(x, torch.FloatTensor)
    assert x.type(torch.LongTensor).type() == "torch.LongTensor"
    assert host.type(torch.cuda.HalfTensor).type() == "torch.cuda.HalfTensor"
    assert host.type(torch.IntTensor).dtype == torch.int32
    assert torch.FloatTensor([1, 2]).tolist() == [1, 2] and torch.LongTensor(3).shape == (3,)
    assert (
        torch.FloatTensor.dtype == torch.float32 and repr(torch.FloatTensor) == "<class 'torch.FloatTensor'>"
    )


def test_type_as_moves():
    x, host = torch.ones(2, device=D, dtype=torch.int32), torch.ones(2)
    assert type(x.type_as(host)) is torch.Tensor and x.type_as(host).dtype == torch.float32
    assert on_device(host.type_as(x)) and host.type_as(x).dtype == torch.int32
    assert x.type_as(x) is x


def test_default_tensor_types():
    try:
        torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.ones(1).dtype == torch.float64
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        assert on_device(torch.ones(1)) and torch.ones(1).dtype == torch.float32
    finally:
        torch.set_default_device(None)
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.ones(1).type() == "torch.FloatTensor"


def test_to_knows_pytorchs_keywords_only():
    x = torch.ones(1, device=D)
    assert on_device(torch.ones(1).to(tensor=x)) and type(x.to(tensor=torch.ones(1))) is torch.Tensor
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.ones(1).to(other=x)
