"""torch.compile and torch.jit.trace around functions of device tensors."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as nnf

from . import harness
from .harness import D, E, F, J, T, V, meta
from .racing import full, values

case = partial(harness.case, recorded=False)


@case("compile/fused_elementwise", expect=True)
def fused_elementwise():
    def f(x, y):
        return (x * 2 + y).relu() - y * 0.5

    x, y = F(1000, -500.0), F(1000)
    return torch.allclose(torch.compile(f)(x, y), f(x, y))


@case("compile/gelu_against_eager", expect=[True, True])
def gelu_against_eager():
    def f(x, y):
        return nnf.gelu(x, approximate="tanh") + y

    compiled, close = torch.compile(f), []
    for n in (7, 1025):
        x, y = torch.linspace(-3, 3, n, device=D), torch.linspace(0, 1, n, device=D)
        close.append(torch.allclose(compiled(x, y), f(x, y), rtol=1e-5, atol=1e-6))
    return close


@case("compile/backward", expect=[[8.0, 13.0, 20.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]])
def backward():
    f = torch.compile(lambda x, y: x * x + y)
    x, y = F(3, 1.0).requires_grad_(), T([7.0, 9.0, 11.0]).requires_grad_()
    out = f(x, y)
    out.sum().backward()
    return [out.tolist(), x.grad.tolist(), y.grad.tolist()]


@case("compile/a_jitted_kernel_inside", expect={"dt": "float32", "shape": [4], "v": [2.0, 3.0, 10.0, 29.0]})
def a_jitted_kernel_inside():
    cube = J("template <typename T> T cube(T x) { return x * x * x; }")

    @torch.compile
    def f(x):
        y = x * 1
        return cube(y) + 2

    return V(f(F(4)))


@case("compile/input_changed_in_place", expect=[[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], True])
def input_changed_in_place():
    @torch.compile
    def f(x):
        x.add_(1)
        return x * 2

    x = F(3)
    address = x.data_ptr()
    out = f(x)
    return [x.tolist(), out.tolist(), x.data_ptr() == address]


@case("compile/a_module_and_its_training", expect=[True, True])
def a_module_and_its_training():
    def train(compiled):
        layer = torch.nn.Linear(2, 1, device=D)
        with torch.no_grad():
            layer.weight.copy_(T([[0.5, -0.5]]))
            layer.bias.zero_()
        model = torch.compile(layer) if compiled else layer
        optimizer, x = torch.optim.SGD(layer.parameters(), lr=0.125), torch.eye(2, device=D)
        for _ in range(3):
            optimizer.zero_grad()
            (model(x) - 1).pow(2).sum().backward()
            optimizer.step()
        return layer.weight.detach(), layer.bias.detach()

    pairs = zip(train(True), train(False), strict=True)
    return [torch.allclose(a, b) for a, b in pairs]


@case("compile/reductions", expect=[[6.0, 22.0, 38.0], True, [3, 3, 3], 11.0])
def reductions():
    f = torch.compile(lambda x: (x.sum(1), x.softmax(1), x.argmax(1), x.max()))
    x = F(12).view(3, 4)
    total, soft, where, highest = f(x)
    return [total.tolist(), torch.allclose(soft, x.softmax(1)), where.tolist(), highest.item()]


@case(
    "compile/layouts_and_devices",
    expect=[
        ["torch.float32", [3, 2], [1, 3], "cuda:0"],
        ["torch.float32", [2], [1], "cuda:0"],
        ["torch.int64", [2, 3], [3, 1], "cuda:0"],
        ["torch.float16", [], [], "cuda:0"],
    ],
)
def layouts_and_devices():
    f = torch.compile(lambda x: (x.t(), x[:, 0] * 2, x.long(), x.half().sum()))
    return [meta(t) for t in f(F(6).view(2, 3))]


@case("compile/breaks_and_branches_on_values", expect=[[1.0, 2.0], [-2.0, -1.0], 2])
def breaks_and_branches_on_values():
    calls = []

    @torch.compile
    def f(x):
        calls.append(None)
        if x.sum() > 0:
            return x + 1
        return x - 1

    return [f(F(2)).tolist(), f(F(2, -1.0)).tolist(), len(calls)]


@case(
    "compile/the_same_function_for_both_devices", expect=[["cpu", [1.0, 2.0]], ["cuda:0", [1.0, 2.0]], "cpu"]
)
def the_same_function_for_both_devices():
    f = torch.compile(lambda x: x + 1)
    seen = [[str(y.device), y.tolist()] for y in (f(torch.arange(2.0)), f(F(2)))]
    return [*seen, str(f(torch.ones(1)).device)]


@case("compile/errors_of_shapes_come_through", expect=[True, [2.0, 2.0, 2.0]])
def errors_of_shapes_come_through():
    f = torch.compile(lambda x, y: x + y)
    wrong = E(f, F(2), F(3))
    return ["exc" in wrong, f(torch.ones(3, device=D), torch.ones(3, device=D)).tolist()]


@case("compile/traced_and_run_six_times", expect=[[True] * 6, True])
def traced_and_run_six_times():
    def f(x, y):
        return nnf.gelu(x, approximate="tanh") + y

    x, y = torch.linspace(-3, 3, 1024, device=D), full(1.0, 1024)
    traced = torch.jit.trace(f, (x, y))
    right = [torch.allclose(traced(x, y), f(x, y), rtol=1e-5, atol=1e-6) for _ in range(6)]
    return [right, values(traced(full(0.0, 1024), y)) == [1.0]]


@case(
    "compile/a_trace_keeps_its_branch_and_its_loop", expect=[[0.0], [1.0, 1.0, 1.0, 0.0, 0.0], "RuntimeError"]
)
def a_trace_keeps_its_branch_and_its_loop():
    def branch(x):
        return x + 1 if x.sum() > 0 else x - 1

    def loop(x):
        y = torch.zeros_like(x)
        for i in range(x.shape[0]):
            y[i] = 1
        return y

    branch, loop = torch.jit.trace(branch, F(1, 1.0)), torch.jit.trace(loop, F(3))
    return [branch(F(1, -1.0)).tolist(), loop(F(5)).tolist(), E(loop, F(2)).get("exc")]
