"""Code that only uses CPU tensors is not touched: nothing of ours is in its way but the names listed."""

import pytest
import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from grader import simgpu

# All that is replaced on torch.Tensor itself; everything else is PyTorch's own.
ON_TENSOR = {"cuda", "data", "is_pinned", "pin_memory", "to", "type"}
ON_TENSOR |= {"new_empty", "new_full", "new_ones", "new_tensor", "new_zeros"}


def test_no_mode_is_active():
    assert _get_current_function_mode_stack() == []
    assert _get_current_dispatch_mode_stack() == []


def test_only_the_listed_names_of_tensor_are_replaced():
    names = {n.removeprefix("torch.Tensor.") for n in simgpu.patched_names() if n.startswith("torch.Tensor.")}
    assert names == ON_TENSOR


@pytest.mark.parametrize(
    "name", ["shape", "device", "dtype", "is_cuda", "grad", "requires_grad", "grad_fn", "T"]
)
def test_attributes_are_read_by_pytorch_itself(name):
    assert getattr(torch.Tensor, name) is getattr(torch._C.TensorBase, name)


@pytest.mark.parametrize(
    "name", ["add", "__add__", "__getitem__", "item", "cpu", "view", "sum", "detach", "clone", "float"]
)
def test_methods_are_pytorchs_own(name):
    own = getattr(torch.Tensor, name)
    assert "grader" not in (getattr(own, "__module__", None) or "")
    assert not hasattr(own, "__wrapped__")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(3),
        lambda: torch.tensor([1.0]),
        lambda: torch.ones(2, dtype=torch.int8),
        lambda: torch.rand(2),
        lambda: torch.zeros(2, device="cpu"),
        lambda: torch.as_tensor([1, 2]),
        lambda: torch.ones(2) + 1,
        lambda: torch.zeros_like(torch.ones(2)),
        lambda: torch.ones(2).to(torch.float64),
        lambda: torch.ones(2).to("cpu"),
        lambda: torch.ones(4)[1:],
        lambda: torch.from_numpy(torch.ones(2).numpy()),
        lambda: torch.ones(2).data,
        lambda: torch.empty(3, device="meta"),
        lambda: torch.normal(0.0, 1.0, (2,)),
        lambda: torch.ones(2).type(torch.int64),
        lambda: torch.ones(2).new_tensor([1.0]),
    ],
)
def test_host_tensors_stay_plain(make):
    t = make()
    assert type(t) is torch.Tensor
    assert not t.is_cuda
    assert type(t.untyped_storage()) is torch.UntypedStorage


def test_modules_on_the_host_stay_plain():
    m = torch.nn.Linear(2, 2)
    m(torch.ones(1, 2)).sum().backward()
    assert type(m.weight) is torch.nn.Parameter
    assert type(m.weight.grad) is torch.Tensor
    assert m.to("cpu").weight is m.weight


def test_moving_to_the_device_leaves_the_host_tensor_as_it_was():
    c = torch.ones(2)
    x = c.to("cuda")
    assert type(c) is torch.Tensor and type(c.untyped_storage()) is torch.UntypedStorage
    x[0] = 5
    assert c.tolist() == [1, 1]


def test_wrapped_factories_keep_name_and_documentation():
    assert torch.zeros.__name__ == "zeros" and torch.zeros.__module__ == "torch"
    assert "zeros(" in torch.zeros.__doc__


def test_host_code_compiles_in_one_graph():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    @torch.compile(backend=backend, fullgraph=True)
    def f(x):
        return (x + torch.zeros(3)).to(torch.float64) * torch.ones_like(x) + torch.arange(3)

    assert f(torch.ones(3)).tolist() == [1, 2, 3]
    assert len(graphs) == 1


def test_host_code_scripts():
    @torch.jit.script
    def f(x):
        return x + torch.zeros(3) + torch.full_like(x, 2.0)

    assert f(torch.ones(3)).tolist() == [3, 3, 3]


def test_custom_functions_on_the_host():
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.extend([type(x), type(g)])
            return 2 * x * g

    w = torch.tensor([3.0], requires_grad=True)
    Square.apply(w).backward()
    assert w.grad.tolist() == [6]
    assert seen == [torch.Tensor, torch.Tensor]


def test_host_random_numbers_do_not_depend_on_the_device():
    torch.manual_seed(0)
    alone = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(100, device="cuda")
    torch.nn.functional.dropout(torch.ones(10, device="cuda"))
    torch.nn.init.normal_(torch.empty(3, device="cuda"))
    assert torch.equal(torch.rand(3), alone)
