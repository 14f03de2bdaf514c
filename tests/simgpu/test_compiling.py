"""torch.compile, TorchScript and custom operators on simulated tensors."""

import pytest
import torch

D = "cuda"
X = lambda: torch.tensor([1.0, 2.0], device=D)  # noqa: E731
GLOBAL_MODULE = torch.nn.Linear(2, 1)


def test_compiled_functions():
    f = torch.compile(lambda x: x.sin() + torch.ones(2, device=x.device))
    assert torch.equal(f(X()), X().sin() + 1)
    assert torch.equal(f(torch.ones(2)), torch.ones(2).sin() + 1)


def test_compiled_without_arguments():
    @torch.compile
    def f():
        return torch.zeros(2, device="cuda") + 1

    assert f().is_cuda


def test_compiled_closures_and_modules():
    k = X()
    assert torch.equal(torch.compile(lambda: k * 2)(), k * 2)
    m = torch.nn.Linear(2, 1).to(D)
    compiled = torch.compile(m)
    assert torch.equal(compiled(X()), m(X()))
    assert list(compiled.state_dict())[0].endswith("weight")
    moved = GLOBAL_MODULE.to(D)
    assert torch.compile(lambda: GLOBAL_MODULE(X()))().is_cuda and moved is GLOBAL_MODULE


def test_compiled_backward():
    w = X().requires_grad_()
    torch.compile(lambda x: (x * x).sum())(w).backward()
    assert w.grad.is_cuda and w.grad.tolist() == [2, 4]


def test_a_backend_of_ones_own_gets_its_graph():
    graphs = []

    def backend(graph, inputs):
        graphs.append([n.target for n in graph.graph.nodes if n.op == "call_function"])
        return graph.forward

    w, host = X().requires_grad_(), torch.ones(2)
    f = torch.compile(lambda x: x.sin() * w, backend=backend)
    y = f(X())
    assert len(graphs) == 1 and type(w) is type(y) and y.is_cuda and torch.equal(y, X().sin() * w)
    y.sum().backward()
    assert w.grad.is_cuda and torch.equal(w.grad, X().sin())
    m = torch.nn.Linear(2, 1).to(D)
    compiled = torch.compile(m, backend=backend)
    assert torch.equal(compiled(X()), m(X())) and len(graphs) == 2
    compiled(X()).sum().backward()
    assert m.weight.grad.is_cuda and isinstance(m.weight, torch.nn.Parameter) and m.weight.is_cuda
    assert compiled(X()).is_cuda
    assert not torch.compile(lambda x: x + 1, backend=backend)(host).is_cuda and len(graphs) == 3


def test_compiled_with_options():
    @torch.compile(fullgraph=True, dynamic=False)
    def f(x):
        """Doubles."""
        return x * 2

    assert f(X()).tolist() == [2, 4] and f.__doc__ == "Doubles."


def test_traced_functions_bake_the_branch():
    def f(x):
        return x + torch.ones(2, device=x.device) if x.sum() > 0 else x - 1

    traced = torch.jit.trace(f, X(), check_trace=False)
    result = traced(-X())
    assert type(traced).__name__ == "ScriptFunction" and result.is_cuda and result.tolist() == [0, -1]


def test_traced_modules():
    m = torch.nn.Linear(2, 1).to(D)
    traced = torch.jit.trace(m, X())
    assert traced(X()).is_cuda and torch.equal(traced(X()), m(X())) and traced.weight.is_cuda
    assert not traced.cpu()(torch.ones(2)).is_cuda


def test_scripted_functions_keep_the_branch():
    @torch.jit.script
    def f(x):
        if bool(x.sum() > 0):
            return x + 1
        return x - 1

    assert f(X()).tolist() == [2, 3] and f(-X()).tolist() == [-2, -3] and f(X()).is_cuda
    assert torch.jit.script(torch.nn.Linear(2, 1)).to(D)(X()).is_cuda


def operator(name, **kwargs):
    @torch.library.custom_op(f"simgpu_tests::{name}", mutates_args=(), **kwargs)
    def double(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return x * torch.full((1,), 2.0, device=D)

    double.register_fake(torch.empty_like)
    double.register_autograd(lambda ctx, g: g * 2)
    return double


@pytest.mark.parametrize("kwargs", [{}, {"device_types": "cuda"}, {"device_types": ["cuda", "cpu"]}])
def test_custom_operators(kwargs):
    name = "_".join(["double", *map(str, kwargs.get("device_types", ()))])
    double = operator(name.replace("'", ""), **kwargs)
    x = X().requires_grad_()
    y = double(x)
    y.sum().backward()
    assert y.is_cuda and y.tolist() == [2, 4] and x.grad.is_cuda and x.grad.tolist() == [2, 2]


def test_operators_of_a_library():
    library = torch.library.Library("simgpu_tests_lib", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + torch.ones(1, device=x.device), "CUDA")
    f = torch.ops.simgpu_tests_lib.f
    assert f(X()).is_cuda and f(X()).tolist() == [2, 3]
    with pytest.raises(
        NotImplementedError, match="Could not run 'simgpu_tests_lib::f' with arguments from the 'CPU'"
    ):
        f(torch.ones(2))
    library.impl("f", lambda x: x - 1, "CPU")
    assert f(torch.ones(2)).tolist() == [0, 0] and f(X()).tolist() == [2, 3]


def test_an_operator_for_the_device_only_refuses_the_host():
    double = operator("only_on_the_device", device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'simgpu_tests::only_on_the_device'"):
        double(torch.ones(2))

    @double.register_kernel("cpu")
    def _(x):
        return x + x

    assert double(torch.ones(2)).tolist() == [2, 2] and double(X()).tolist() == [2, 4]
