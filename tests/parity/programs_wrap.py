"""Kernels wrapped: in autograd, custom operators, traces and torch.compile."""

from __future__ import annotations

import torch

from .harness import ET, D, E, F, J, T, V, case, meta

ADD = "template <typename T> T add(T a, T b) { return a + b; }"


def jit_pair():
    return J("template <typename T> T fwd(T x) { return x * x * x; }"), J(
        "template <typename T> T bwd(T g, T x) { return g * T(3) * x * x; }"
    )


def cube_function(wrong=False):
    f, b = jit_pair()

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return f(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return b(g, x) * (2 if wrong else 1)

    return Cube


@case("wrap/needs_input_grad_and_none")
def needs_input_grad_and_none():
    f = J("template <typename T> T f(T x, T y) { return x * y; }")
    seen = []

    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return f(x, y)

        @staticmethod
        def backward(ctx, g):
            seen.append(list(ctx.needs_input_grad))
            x, y = ctx.saved_tensors
            return f(g, y) if ctx.needs_input_grad[0] else None, f(g, x) if ctx.needs_input_grad[1] else None

    a, b = F(3, 1).requires_grad_(), F(3, 2)
    Mul.apply(a, b).sum().backward()
    c = F(3).requires_grad_()
    Mul.apply(a, c).sum().backward()
    return [seen, V(a.grad), b.grad is None, V(c.grad)]


@case("wrap/broadcast_gradient_must_be_summed")
def broadcast_gradient_must_be_summed():
    f = J(ADD)

    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.shape = y.shape
            return f(x, y)

        @staticmethod
        def backward(ctx, g):
            return g, g.sum_to_size(ctx.shape)

    class Careless(Add):
        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = F(6).view(2, 3).requires_grad_(), F(3).requires_grad_()
    Add.apply(x, y).sum().backward()
    return [
        V(x.grad),
        V(y.grad),
        E(lambda: Careless.apply(F(6).view(2, 3), F(3).requires_grad_()).sum().backward()),
    ]


@case("wrap/in_a_module_trained_by_sgd")
def in_a_module_trained_by_sgd():
    cube = cube_function()

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor([0.5], dtype=torch.float64))

        def forward(self, x):
            return cube.apply(self.w * x)

    m = M().to(D)
    o = torch.optim.SGD(m.parameters(), lr=0.01)
    for _ in range(5):
        o.zero_grad()
        ((m(T([1.0, 2.0], "float64")) - T([1.0, 8.0], "float64")) ** 2).sum().backward()
        o.step()
    return V(m.w)


@case("wrap/custom_op")
def custom_op():
    f, b = jit_pair()

    @torch.library.custom_op("parity::cube", mutates_args=(), device_types="cuda")
    def cube(x: torch.Tensor) -> torch.Tensor:
        return f(x)

    @cube.register_fake
    def _fake(x):
        return torch.empty_like(x)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    cube.register_autograd(lambda ctx, g: b(g, ctx.saved_tensors[0]), setup_context=setup)
    x = F(3, 1).requires_grad_()
    y = cube(x)
    y.sum().backward()
    return [
        V(y),
        V(x.grad),
        V(torch.ops.parity.cube(F(2))),
        E(cube, torch.ones(2)).get("exc"),
        list(cube(torch.ones(2, 3, device="meta")).shape),
        str(cube),
    ]


@case("wrap/trace_bakes_the_branch")
def trace_bakes_the_branch():
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    t = torch.jit.trace(f, F(3), check_trace=False)
    return [V(t(-F(3))), V(f(-F(3))), type(t).__name__]


@case("wrap/trace_of_a_module")
def trace_of_a_module():
    m = torch.nn.Linear(2, 1, device=D)
    with torch.no_grad():
        m.weight.copy_(T([[1.0, 2.0]]))
        m.bias.fill_(0.5)
    t = torch.jit.trace(m, torch.ones(1, 2, device=D))
    return [V(t(F(4).view(2, 2))), str(t.weight.device), ET(lambda: t.cpu()(torch.ones(1, 2)).tolist())]


@case("wrap/script")
def script():
    def g():
        cu = torch.jit.CompilationUnit(
            "def f(x):\n    if bool(x.sum() > 0):\n        return x + 1\n    return x - 1\n"
        )
        return [V(cu.f(F(3))), V(cu.f(-F(3)))]

    return ET(g)


@case("compile/where_and_integers")
def where_and_integers():
    f = torch.compile(lambda x: (torch.where(x > 2, x * 3, -x) // 2, x % 3, x.to(torch.float16) / 2))
    return [V(o) for o in f(T([1, 2, 3, 4, -5]))]


@case("compile/loop_and_changing_shapes")
def loop_and_changing_shapes():
    @torch.compile
    def f(x, n):
        for i in range(n):
            x = x * 2 + i
        return x

    return [V(f(F(n), k)) for n, k in ((3, 2), (4, 2), (5, 3), (3, 0))]


@case("compile/device_and_dtype_of_results")
def device_and_dtype_of_results():
    f = torch.compile(
        lambda x: (x + torch.arange(3, device=x.device), torch.zeros(2, device=D), x.half(), x > 1)
    )
    return [meta(o) for o in f(F(3))]


@case("compile/on_a_side_stream")
def on_a_side_stream():
    f, s, x = torch.compile(lambda t: t * 2 + 1), torch.cuda.Stream(), F(1000)
    f(x)
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        y = f(x)
    torch.cuda.current_stream().wait_stream(s)
    return torch.equal(y, x * 2 + 1)
