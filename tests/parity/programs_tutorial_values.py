"""PyTorch's tutorials: indexing, shapes, reductions, linear algebra."""

import torch
import torch.nn as nn
import torch.nn.functional as nnf

from . import tutorial
from .harness import D, E, F, T, V, case, meta


@case("tutorial/indexing_and_masks")
def indexing_and_masks():
    x = F(12).view(3, 4)
    y, z, w = x.clone(), x.clone(), x.clone()
    y[y > 5] = 0
    y[:, 1] = T([7.0, 8.0, 9.0])
    z[0, 0], z[-1] = 100, 5.0
    z[:, ::2] *= -1
    w[[0, 2], [1, 3]] = T([-1.0, -2.0])
    w[1] = torch.zeros(4, device=D)
    mask = x % 2 == 0
    return [
        V(y),
        V(z),
        V(w),
        V(x[mask]),
        V(x[~mask]),
        V(x[mask & (x > 3)]),
        V(x[..., -1]),
        V(x[None, :, 0]),
        V(x[1:, 1:]),
        V(x[T([2, 0])]),
        V(x[:, [True, False, True, False]]),
        V(torch.where(mask, x, -x)),
        V(torch.where(mask, x, 0.0)),
        V(mask.nonzero()),
        [V(t) for t in torch.where(x > 9)],
        V(x.masked_fill(mask, 0)),
        V(torch.masked_select(x, mask)),
        V(x.gather(1, T([[0], [1], [2]]))),
        V(x.take(T([0, 5]))),
        V(torch.zeros(3, 4, device=D).scatter_(1, T([[1], [2], [3]]), 1.0)),
        V(x.index_select(0, T([1]))),
        mask.any().item(),
        mask.all().item(),
        (x > 5).sum().item(),
        E(lambda: x[5]),
        E(lambda: x[T([5])[0].item()]),
        bool((x == x).all()),
        E(lambda: bool(x)),
        V(nnf.one_hot(T([0, 2]), 3)),
        V(torch.bincount(T([0, 1, 1]))),
        V(T([3, 1]).unique()),
        E(x.__getitem__, (0, 0, 0)),
        T(2.0) in x,
        V(x[torch.tensor([0, 1])]),
        V(x.T[0]),
        V(x.mT),
    ]


@case("tutorial/shapes")
def shapes():
    x = F(24).view(2, 3, 4)
    a, b, c = torch.split(x, 1, dim=1)
    q, k, v = x.view(2, 3, 4).transpose(1, 2).chunk(4, dim=1)[:3]
    return [
        meta(t)
        for t in (
            x.permute(2, 0, 1),
            x.reshape(-1),
            x.flatten(1),
            x.unsqueeze(0),
            x.squeeze(),
            x.transpose(0, 2),
            x.expand(5, 2, 3, 4),
            x[:, 0].contiguous(),
            torch.cat([x, x], 0),
            torch.stack([x, x], -1),
            a,
            b,
            c,
            q,
            k,
            v,
            x.repeat(2, 1, 1),
            x.unfold(2, 2, 1),
            x.view(torch.int32),
            x.swapaxes(0, 1),
            x.movedim(0, 2),
            torch.broadcast_to(F(4), (3, 4)),
            torch.einsum("ijk,kl->ijl", x, F(8).view(4, 2)),
            x @ F(4),
            torch.meshgrid(F(2), F(3), indexing="ij")[0],
            nnf.pad(x, (1, 1)),
            x.flip(0),
            x.roll(1, 0),
            torch.tril(x[0]),
            torch.diag(F(3)),
            x.half(),
            x.bool(),
            x.sum(0, keepdim=True),
            x.new_zeros(2),
            torch.full_like(x, 3),
            torch.empty_like(x, dtype=torch.int8),
            x.to(torch.bfloat16),
            *x.unbind(0),
            torch.block_diag(F(2), F(3)),
            torch.cdist(x, x),
            x.tile(2),
            torch.atleast_2d(F(2)),
        )
    ]


@case("tutorial/linear_algebra")
def linear_algebra():
    a = T([[4.0, 1.0], [1.0, 3.0]], "float64")
    b = T([1.0, 2.0], "float64")
    q, r = torch.linalg.qr(a)
    u, s, vh = torch.linalg.svd(a)
    values, vectors = torch.linalg.eigh(a)
    return [
        tutorial.rounded(t.flatten().tolist(), 6)
        for t in (
            torch.linalg.solve(a, b),
            torch.linalg.inv(a) @ a,
            q @ r,
            u @ torch.diag(s) @ vh,
            values,
            vectors @ vectors.T,
            torch.linalg.cholesky(a),
            torch.linalg.norm(a),
            torch.linalg.det(a),
            torch.linalg.lstsq(a, b.unsqueeze(1)).solution,
            torch.linalg.matrix_power(a, 2),
            torch.outer(b, b),
            torch.kron(a, a),
            torch.trace(a),
            torch.linalg.pinv(a),
            torch.fft.ifft(torch.fft.fft(b)).real,
        )
    ] + [V(s), torch.linalg.matrix_rank(a).item(), E(torch.linalg.inv, torch.zeros(2, 2, device=D))]


@case("tutorial/reductions_and_sorting")
def reductions_and_sorting():
    x = T([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
    top, where = x.topk(2)
    best, at = x.max(dim=1)
    return [
        V(t)
        for t in (
            x.sum(),
            x.mean(0),
            x.std(),
            x.var(0),
            x.max(),
            x.argmin(),
            top,
            where,
            best,
            at,
            x.sort().indices,
            x.cumsum(1),
            x.prod(),
            x.median(),
            x.norm(),
            x.min(dim=0).values,
            x.argsort(descending=True),
            x.softmax(1),
            torch.maximum(x[0], x[1]),
            torch.clamp(x, 2, 8),
            torch.histc(x, 3),
            torch.quantile(x, 0.5),
            x.logsumexp(1),
            torch.searchsorted(F(5), T([1.5])),
            torch.bucketize(x, F(9)),
            x.count_nonzero(),
            x.cumprod(0),
            x.diff(),
            *torch.aminmax(x),
            *torch.std_mean(x),
            x.kthvalue(2).values,
            x.mode().values,
            torch.unique(x, return_counts=True)[1],
            torch.tensordot(x, x, 2),
            torch.addmm(x[:, :2], x, x.T),
            torch.nan_to_num(x / 0),
            torch.lerp(x, x * 2, 0.5),
            torch.isclose(x, x),
            torch.trapezoid(x),
            torch.cross(x[0], x[1], dim=0),
            x.amax((0, 1)),
            torch.cov(x),
        )
    ]


@case("tutorial/rng_on_the_device")
def rng_on_the_device():
    torch.manual_seed(3)
    a = torch.rand(4, device=D)
    torch.cuda.manual_seed_all(3)
    b = torch.rand(4, device=D)
    state = torch.cuda.get_rng_state()
    c = torch.randn(4, device=D)
    torch.cuda.set_rng_state(state)
    d = torch.randn(4, device=D)
    with torch.random.fork_rng(devices=[0]):
        torch.rand(4, device=D)
    shuffled = F(6)[torch.randperm(6, device=D)]
    drop = nnf.dropout(torch.ones(1000, device=D), 0.5)
    picks = torch.multinomial(T([0.0, 1.0]), 3, replacement=True)
    init = nn.init.xavier_uniform_(torch.empty(3, 3, device=D))
    return [
        torch.equal(a, b),
        torch.equal(c, d),
        shuffled.sort().values.tolist(),
        sorted(drop.unique().tolist()),
        picks.tolist(),
        init.abs().max().item() <= 1,
        list(state.shape),
        str(state.device),
        torch.randint(0, 2, (3,), device=D).max().item() <= 1,
        torch.normal(0, 1, (2,), device=D).shape,
        torch.bernoulli(T([0.0, 1.0])).tolist(),
        torch.rand_like(a).device.type,
        a.uniform_(2, 3).min().item() >= 2,
        E(lambda: torch.normal(T([0.0]), T([1.0])).shape),
        torch.distributions.Normal(T(0.0), T(1.0)).sample().is_cuda,
        torch.distributions.Categorical(T([0.5, 0.5])).log_prob(T(1)).item(),
    ]
