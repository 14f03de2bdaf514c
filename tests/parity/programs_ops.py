"""Operations: devices that may not mix, errors, strides."""

from __future__ import annotations

import torch

from .harness import D, E, F, T, V, case, meta


@case("ops/devices_may_not_mix")
def devices_may_not_mix():
    x, c = F(3, 1), torch.ones(3)
    return [
        E(f)
        for f in (
            lambda: x * c,
            lambda: c - x,
            lambda: torch.cat([x, c]),
            lambda: torch.stack([c, x]),
            lambda: torch.dot(x, c),
            lambda: torch.maximum(x, c),
            lambda: x.add_(c),
            lambda: c.add_(x),
            lambda: torch.where(x > 1, x, c),
            lambda: x == c,
            lambda: torch.equal(x, c),
            lambda: x.view(1, 3) @ c.view(3, 1),
            lambda: torch.addcmul(x, c, x),
            lambda: torch.lerp(x, x, c),
        )
    ]


@case("ops/assigning_host_values")
def assigning_host_values():
    x = F(5)
    x[1:3] = torch.tensor([50.0, 60.0])
    x[4] = torch.tensor(9.0)
    x[0] = 1.5
    c = torch.zeros(2)
    c[:] = F(2, 3)
    return [
        V(x),
        V(c),
        E(x.__setitem__, T([0, 1]), torch.tensor([1.0, 2.0])),
        E(x.__setitem__, x > 100, torch.tensor([1.0])),
        E(x.__setitem__, slice(0, 2), torch.ones(3)),
        E(x.__setitem__, T([0]), torch.tensor(4.0)),
        V(x),
    ]


@case("ops/in_place_errors")
def in_place_errors():
    return [
        E(f)
        for f in (
            lambda: F(3).expand(2, 3).add_(1),
            lambda: T([1, 2]).add_(0.5),
            lambda: F(3).add_(F(2)),
            lambda: T([True]).add_(2),
            lambda: F(4).view(3, 2),
            lambda: F(6).view(2, 3).t().view(6),
            lambda: F(3).resize_(-1),
            lambda: F(3).as_strided((5,), (1,)),
            lambda: F(3).squeeze_().unsqueeze_(5),
            lambda: F(2).requires_grad_().add_(1),
            lambda: F(3)[1:].copy_(F(3)),
        )
    ]


@case("ops/overlapping_copy")
def overlapping_copy():
    x = F(6)
    return [
        E(lambda: x[1:].add_(x[:-1]).shape),
        E(lambda: torch.add(x[1:], 1, out=x[:-1]).shape),
        E(lambda: x.add_(x).tolist()),
    ]


@case("ops/reduction_errors")
def reduction_errors():
    return [
        E(f)
        for f in (
            lambda: T([1, 2]).mean(),
            lambda: torch.empty(0, device=D).max(),
            lambda: torch.empty(0, device=D).argmax(),
            lambda: F(3).sum(1),
            lambda: F(3).max(2),
            lambda: torch.empty(2, 0, device=D).max(1),
            lambda: F(3).topk(4),
            lambda: T([True]).std(),
            lambda: F(1).sum(0, 0),
        )
    ]


@case("ops/product_errors")
def product_errors():
    return [
        E(f)
        for f in (
            lambda: F(6).view(2, 3) @ F(6).view(2, 3),
            lambda: torch.mm(F(3), F(3)),
            lambda: torch.dot(F(3), F(2)),
            lambda: F(6).view(2, 3) @ F(6).view(3, 2).half(),
            lambda: torch.bmm(F(4).view(2, 2), F(4).view(2, 2)),
            lambda: torch.einsum("ij,jk", F(6).view(2, 3), F(4).view(2, 2)),
            lambda: F(3) + F(4),
            lambda: torch.cat([F(3).view(1, 3), F(2).view(1, 2)]),
            lambda: torch.cat([]),
        )
    ]


@case("ops/linear_algebra")
def linear_algebra():
    a = T([[4.0, 1.0], [1.0, 3.0]], "float64")
    return [
        V(torch.linalg.solve(a, T([1.0, 2.0], "float64"))),
        V(torch.linalg.det(a)),
        V(torch.linalg.inv(a)),
        V(torch.linalg.cholesky(a)),
        V(torch.linalg.eigvalsh(a)),
        E(lambda: torch.linalg.inv(torch.zeros(2, 2, device=D))),
        E(lambda: torch.linalg.cholesky(-a)),
        E(lambda: torch.linalg.solve(a, torch.ones(2, dtype=torch.float64))),
    ]


@case("ops/channels_last_and_contiguity")
def channels_last_and_contiguity():
    x = torch.ones(2, 3, 4, 5, device=D).to(memory_format=torch.channels_last)
    return [
        meta(t)
        for t in (
            x,
            x + 1,
            x + torch.ones(1, 3, 1, 1, device=D),
            x.contiguous(),
            x.clone(),
            x.sum(1),
            x.permute(0, 2, 3, 1),
            torch.empty_like(x),
            x.half(),
            x[:, :2],
            torch.relu(x),
            x.t() if x.dim() == 2 else x.transpose(1, 2),
        )
    ]


@case("ops/output_strides")
def output_strides():
    x = F(6).view(2, 3).t()
    return [
        meta(t)
        for t in (
            x + 1,
            x + F(6).view(3, 2),
            F(6).view(3, 2) + x,
            x.exp(),
            x.clone(),
            x.contiguous(),
            torch.where(x > 1, x, 0.0),
            x.half(),
            x @ x.t(),
            x.sum(0, keepdim=True),
            F(3).view(3, 1).expand(3, 2) + 1,
            x[::2] + 1,
            torch.cat([x, x]),
            x.cumsum(0),
        )
    ]


@case("ops/embedding_out_of_range_on_the_device", alone=True)
def embedding_out_of_range_on_the_device():
    w = torch.ones(3, 2, device=D)
    torch.nn.functional.embedding(T([0, 3]), w)
    e = E(torch.cuda.synchronize)
    return [e.get("exc"), str(e.get("msg"))[:40], E(lambda: torch.zeros(2, device=D)).get("exc")]
