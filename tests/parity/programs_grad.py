"""Autograd on the device."""

from __future__ import annotations

import torch

from .harness import D, E, F, V, case


@case("grad/hooks_and_retain")
def hooks_and_retain():
    seen = []
    x = F(2, 1).requires_grad_()
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append([str(g.device), g.tolist()]))
    x.register_hook(lambda g: g * 10)
    (y * y).sum().backward()
    return [seen, V(x.grad), V(y.grad)]


@case("grad/modes")
def modes():
    x = F(2).requires_grad_()
    with torch.no_grad():
        a = x * 2
        x.add_(1)
        with torch.enable_grad():
            b = x * 2
    with torch.inference_mode():
        c = x * 2
    return [
        a.requires_grad,
        b.requires_grad,
        c.is_inference(),
        E(lambda: c.requires_grad_()),
        E(lambda: (c * x).sum().backward()),
        x.detach().requires_grad,
        V(x),
        torch.is_grad_enabled(),
    ]


@case("grad/in_place_on_a_view_of_a_non_leaf")
def in_place_on_a_view_of_a_non_leaf():
    x = F(4).requires_grad_()
    y = x * 1
    y[1:3].mul_(10)
    y.sum().backward()
    return [V(x.grad), y.grad_fn.name()]


@case("grad/jacobian_and_func")
def jacobian_and_func():
    f = lambda t: (t**2).sum()  # noqa: E731
    return [
        V(torch.func.grad(f)(F(3, 1))),
        V(torch.func.vmap(lambda t: t * 2)(F(3))),
        V(torch.autograd.functional.jacobian(lambda t: t**2, F(2, 1))),
        V(torch.func.jvp(lambda t: t**3, (F(2, 1),), (torch.ones(2, device=D),))[1]),
    ]


@case("grad/autocast")
def autocast():
    a = torch.ones(2, 2, device=D)
    out = []
    for kw in ({}, {"dtype": torch.bfloat16}, {"enabled": False}):
        with torch.autocast("cuda", **kw):
            out.append(
                [
                    str(t.dtype)
                    for t in (
                        a @ a,
                        a + a,
                        torch.nn.functional.linear(a, a),
                        a.softmax(0),
                        torch.exp(a),
                        a.sum(),
                        torch.mm(a.double(), a.double()),
                    )
                ]
            )
    with torch.autocast("cuda"):
        inner = torch.is_autocast_enabled("cuda")
    return [out, inner, str((a @ a).dtype), str(torch.get_autocast_dtype("cuda"))]


@case("grad/checkpoint")
def checkpoint():
    from torch.utils.checkpoint import checkpoint

    x = F(3, 1).requires_grad_()
    calls = []

    def f(t):
        calls.append(1)
        return (t**2).sum()

    checkpoint(f, x, use_reentrant=False).backward()
    return [V(x.grad), len(calls)]
