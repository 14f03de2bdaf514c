"""Modules, optimisers, custom functions and random numbers on the device, beyond the first recordings."""

from __future__ import annotations

import torch

from .harness import D, E, F, L, T, V, case, meta


@case("grad/module_moves_keep_identity")
def module_moves_keep_identity():
    m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    before = [id(p) for p in m.parameters()]
    optimiser = torch.optim.SGD(m.parameters(), lr=0.5)
    m.cuda()
    devices = [str(t.device) for t in (*m.parameters(), *m.buffers())]
    m(F(4).view(2, 2)).sum().backward()
    optimiser.step()
    same = before == [id(p) for p in m.parameters()]
    m.cpu()
    return [
        same,
        devices,
        [str(p.device) for p in m.parameters()],
        [str(p.grad.device) for p in m.parameters()],
    ]


@case("grad/parameters_are_parameters")
def parameters_are_parameters():
    m = torch.nn.Linear(2, 1, device=D)
    p = torch.nn.Parameter(F(2))
    return [
        type(m.weight).__name__,
        isinstance(m.weight, torch.nn.Parameter),
        isinstance(p, torch.nn.Parameter),
        isinstance(F(2), torch.nn.Parameter),
        p.is_leaf,
        p.requires_grad,
        len(list(m.parameters())),
        type(p.data).__name__,
    ]


@case("grad/steps_of_optimisers")
def steps_of_optimisers():
    out = []
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.1),
        lambda p: torch.optim.RMSprop(p, lr=0.1),
    ):
        w = F(3, 1).requires_grad_()
        optimiser = make([w])
        for _ in range(3):
            optimiser.zero_grad()
            (w**2).sum().backward()
            optimiser.step()
        out.append([[round(v, 4) for v in w.tolist()], str(w.device)])
    return out


@case("grad/across_devices")
def across_devices():
    w = torch.ones(3, requires_grad=True)
    y = w.to(D) * T([1.0, 2.0, 3.0])
    z = y.cpu() * 2
    z.sum().backward()
    v = F(2).requires_grad_()
    (v.cpu() ** 2).sum().backward()
    return [
        V(w.grad),
        str(w.grad.device),
        type(y.grad_fn).__name__,
        type(w.to(D).grad_fn).__name__,
        V(v.grad),
        str(v.grad.device),
    ]


@case("grad/function_with_setup_context")
def function_with_setup_context():
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k, x + k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output[0])
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            seen.append([str(t.device) for t in (x, y, g, h)])
            return g * ctx.k + h, None

    x = F(2, 1).requires_grad_()
    a, b = Double.apply(x, 3.0)
    (a.sum() + 2 * b.sum()).backward()
    return [V(x.grad), seen, str(a.device), type(a.grad_fn).__name__]


@case("grad/gradcheck")
def gradcheck():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    class Wrong(Cube):
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x**2 * g

    x = T([0.5, -1.5], "float64", requires_grad=True)
    return [
        torch.autograd.gradcheck(Cube.apply, x),
        torch.autograd.gradgradcheck(Cube.apply, x),
        torch.autograd.gradcheck(Wrong.apply, x, raise_exception=False),
    ]


@case("grad/hooks_see_the_device")
def hooks_see_the_device():
    seen = []
    m = torch.nn.Linear(2, 1, bias=False, device=D)
    m.register_forward_hook(
        lambda mod, args, out: seen.append(["forward", str(args[0].device), str(out.device)])
    )
    m.register_full_backward_hook(lambda mod, gi, go: seen.append(["backward", str(go[0].device)]))
    m.weight.register_post_accumulate_grad_hook(lambda p: seen.append(["grad", str(p.grad.device)]))
    m(F(2).view(1, 2).requires_grad_()).sum().backward()
    return seen


@case("grad/assigning_grad_and_data")
def assigning_grad_and_data():
    w = F(2).requires_grad_()
    w.grad = torch.ones(2, device=D)
    v = torch.nn.Parameter(torch.ones(2))
    v.data = v.data.to(D)

    def other_device():
        w.grad = torch.ones(2)

    return [
        V(w.grad),
        E(other_device),
        str(v.device),
        isinstance(v, torch.nn.Parameter),
        V(v.data),
        v.is_leaf,
    ]


@case("grad/checkpoint_and_hooks_of_saved_tensors")
def checkpoint_and_hooks_of_saved_tensors():
    packed = []

    def pack(t):
        packed.append(str(t.device))
        return t.cpu()

    x = F(3, 1).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.to(D)):
        y = (x * x).exp().sum()
    y.backward()
    return [packed, [round(v, 3) for v in x.grad.tolist()]]


@case("rng/generators")
def generators():
    g = torch.Generator(device=D)
    first = g.initial_seed()
    a = torch.rand(3, device=D, generator=g.manual_seed(5))
    b = torch.rand(3, device=D, generator=g)
    g.manual_seed(5)
    c = torch.empty(3, device=D).uniform_(generator=g)
    state = g.get_state()
    d = torch.randn(3, device=D, generator=g)
    g.set_state(state)
    e = torch.randn(3, device=D, generator=g)
    refused = E(lambda: torch.rand(3, device=D, generator=torch.Generator()))
    other = E(lambda: torch.rand(3, generator=torch.Generator(device=D)))
    return [
        first,
        str(g.device),
        torch.equal(a, b),
        torch.equal(a, c),
        torch.equal(d, e),
        g.initial_seed(),
        isinstance(g, torch.Generator),
        refused,
        other,
    ]


@case("rng/seeds_of_the_device")
def seeds_of_the_device():
    torch.cuda.manual_seed(7)
    a, s = torch.rand(2, device=D), torch.cuda.initial_seed()
    torch.cuda.manual_seed_all(7)
    b = torch.rand(2, device=D)
    torch.manual_seed(9)
    return [
        torch.equal(a, b),
        s,
        torch.cuda.initial_seed(),
        torch.initial_seed(),
        E(lambda: torch.cuda.set_rng_state(torch.zeros(3, dtype=torch.uint8))).get("exc"),
    ]


@case("rng/dropout_in_training")
def dropout_in_training():
    d = torch.nn.Dropout(0.5)
    torch.manual_seed(1)
    a = d(torch.ones(1000, device=D))
    torch.manual_seed(1)
    b = d(torch.ones(1000, device=D))
    d.eval()
    values = sorted(set(a.tolist()))
    return [torch.equal(a, b), values, 300 < int((a == 0).sum()) < 700, V(d(torch.ones(2, device=D)))]


@case("query/device_functions")
def device_functions():
    c = torch.cuda
    properties = c.get_device_properties(0)
    return [
        c.is_available(),
        c.device_count() >= 1,
        c.current_device(),
        isinstance(c.get_device_name(), str),
        c.get_device_name() == properties.name,
        c.get_device_capability() == (properties.major, properties.minor),
        properties.warp_size,
        c.is_initialized(),
        c.synchronize(),
        E(c.get_device_properties, 99),
        E(c.set_device, -1),
        E(c.get_device_name, "cpu").get("exc"),
        c.is_current_stream_capturing(),
        str(torch.accelerator.current_accelerator()),
        torch.accelerator.is_available(),
        torch.accelerator.current_device_index(),
    ]


@case("query/memory_follows_tensors")
def memory_follows_tensors():
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device=D)
    y = x[10:]
    one = torch.cuda.memory_allocated() - before
    del x
    two = torch.cuda.memory_allocated() - before
    del y
    small = torch.empty(1, device=D)
    three = torch.cuda.memory_allocated() - before
    del small
    return [
        one,
        two,
        three,
        torch.cuda.memory_allocated() - before,
        torch.cuda.max_memory_allocated() >= before + one,
    ]


@case("ops/numbers_for_zero_dim_host_tensors")
def numbers_for_zero_dim_host_tensors():
    x, k = F(2, 1), torch.tensor(2.0)
    return [
        E(lambda f=f: L(f()))
        for f in (
            lambda: x * k,
            lambda: k - x,
            lambda: x.mul_(k),
            lambda: torch.where(x > 1, x, k),
            lambda: torch.maximum(x, k),
            lambda: x == k,
            lambda: k.add_(x[0]),
            lambda: torch.cat([x, k.view(1)]),
            lambda: x.fill_(k),
            lambda: torch.dot(x, k.expand(2)),
        )
    ]


@case("ops/layers_on_two_devices")
def layers_on_two_devices():
    nn, x, c = torch.nn, F(4).view(1, 4), torch.ones(1, 4)
    return [
        E(f)
        for f in (
            lambda: nn.Linear(4, 2)(x),
            lambda: nn.Linear(4, 2, device=D)(c),
            lambda: nn.Conv1d(1, 1, 2)(x.view(1, 1, 4)),
            lambda: nn.Conv1d(1, 1, 2, device=D)(c.view(1, 1, 4)),
            lambda: nn.functional.mse_loss(x, c),
            lambda: nn.functional.cross_entropy(x, torch.tensor([0])),
            lambda: nn.Embedding(3, 2)(T([0])),
            lambda: nn.LayerNorm(4)(x),
            lambda: torch.allclose(x, c),
            lambda: x + torch.ones(3),
        )
    ]


@case("ops/assert_close")
def assert_close():
    x = F(2)
    check = torch.testing.assert_close
    return [
        E(check, x, x.clone()),
        E(check, x, x.cpu()),
        E(check, x, x + 1).get("exc"),
        E(check, x, x.cpu(), check_device=False),
        torch.allclose(x, x + 1e-9),
        torch.equal(x, x.clone()),
    ]


@case("ops/results_in_several_parts")
def results_in_several_parts():
    x = T([[3.0, 1.0], [2.0, 4.0]])
    values, indices = x.max(1)
    top = x.topk(1)
    return [
        V(values),
        V(indices),
        type(x.sort()).__name__,
        meta(top.values),
        [meta(t) for t in x.unbind()],
        [meta(t) for t in x.chunk(2, 1)],
        [meta(t) for t in torch.unique(x, return_counts=True)],
        meta(x.nonzero()),
        torch.std_mean(x)[0].is_cuda,
    ]
