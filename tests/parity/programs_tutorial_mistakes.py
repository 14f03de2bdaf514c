"""Mistakes that learners make with two devices, shapes and dtypes: the words of the errors."""

import torch
import torch.nn as nn
import torch.nn.functional as nnf

from . import tutorial
from .harness import D, E, F, T, case


@case("tutorial/mistakes")
def mistakes():
    model, x, c = tutorial.model().cuda(), F(4).view(1, 4), torch.ones(1, 4)
    labels = torch.tensor([1])
    return [
        E(lambda: model(c)),
        E(lambda: model.cpu()(x)),
        E(lambda: x + c),
        E(lambda: c + x),
        E(lambda: torch.cat([x, c])),
        E(lambda: torch.stack([c, x])),
        E(lambda: x @ c.T),
        E(lambda: x.mul_(c)),
        E(lambda: c.add_(x)),
        E(lambda: nnf.cross_entropy(x, labels)),
        E(lambda: x[:, labels]),
        E(lambda: c[:, labels.cuda()]),
        E(lambda: torch.where(x > 0, x, c)),
        E(lambda: x == c),
        E(lambda: torch.equal(x, c)),
        E(lambda: x.numpy()),
        E(lambda: F(3) + F(4)),
        E(lambda: F(6).view(4)),
        E(lambda: F(3) @ F(4)),
        E(lambda: F(3).view(1, 3) @ F(4).view(1, 4)),
        E(lambda: nn.Linear(3, 2, device=D)(F(4))),
        E(lambda: x.item()),
        E(lambda: x.to("cuda:1")),
        E(lambda: torch.zeros(2, device="cuda:1")),
        E(lambda: torch.zeros(2, device="gpu")),
        E(lambda: T([1, 2]) / 0),
        E(lambda: torch.ones(2, device=D, dtype=torch.int32).mean()),
        E(lambda: nn.Conv2d(1, 1, 3, device=D)(torch.ones(4, 1, 8, 8))),
        E(lambda: nn.Conv2d(1, 1, 3)(torch.ones(4, 1, 8, 8, device=D))),
        E(lambda: nn.Conv2d(1, 1, 3, device=D)(torch.ones(4, 1, 8, 8, dtype=torch.float64))),
        E(lambda: nn.BatchNorm1d(4, device=D)(torch.ones(2, 4))),
        E(lambda: nn.LSTM(4, 2, device=D)(torch.ones(2, 1, 4))),
        E(lambda: x.undefined),
        E(lambda: torch.sin("a")),
        E(lambda: x.reshape(3)),
        E(lambda: torch.ones(1, device=D).backward()),
        E(lambda: x.float16()),
        E(lambda: x.index_select(0, torch.tensor([0]))),
        E(lambda: x.scatter_(1, torch.tensor([[0]]), 1.0)),
        E(lambda: nnf.mse_loss(c, x)),
        E(lambda: torch.linalg.solve(torch.eye(4, device=D), torch.ones(4))),
        E(lambda: x.copy_(torch.ones(3))),
        E(lambda: torch.dot(F(2), torch.ones(2))),
        E(lambda: [t.tolist() for t in torch.tensor_split(F(4), torch.tensor([1, 3]))]),
        E(
            lambda: nnf.ctc_loss(
                F(6).view(3, 1, 2), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1])
            )
        ),
        E(lambda: x.repeat_interleave(torch.tensor([1, 2, 1, 1]))),
        E(lambda: torch.bucketize(x, torch.ones(2))),
        E(lambda: nnf.embedding(torch.tensor([0]), x)),
        E(lambda: nnf.grid_sample(x.view(1, 1, 2, 2), torch.zeros(1, 1, 1, 2))),
        E(lambda: torch.linspace(0, 1, 3, device=D) + T(1).cpu()),
        E(lambda: x.clamp(torch.tensor(1.0), torch.tensor(2.0))),
        E(lambda: torch.addcmul(x, x, c)),
        E(lambda: torch.lerp(x, x, torch.tensor(0.5))),
        E(lambda: torch.pow(torch.tensor(2.0), x)),
        E(lambda: torch.maximum(x, torch.tensor(1.0))),
        E(lambda: torch.sum(x, out=torch.zeros(()))),
        E(lambda: torch.add(x, x, out=torch.zeros(1, 4))),
        E(lambda: nnf.layer_norm(x, (4,), weight=torch.ones(4))),
        E(lambda: x.expand_as(torch.ones(3, 4)).shape),
        E(lambda: x.view_as(c).shape),
        E(lambda: x.type_as(c).device),
        E(lambda: torch.kron(x, c)),
        E(lambda: torch.outer(F(2), torch.ones(2))),
        E(lambda: torch.einsum("ij,ij->i", x, c)),
        E(lambda: x.index_add_(0, torch.tensor([0]), x)),
        E(lambda: x.masked_select(torch.tensor([True, False, True, False]))),
        E(lambda: x.masked_fill(torch.tensor([True, False, True, False]), 0)),
        E(lambda: x[torch.tensor([[True, False, True, False]])]),
        E(lambda: nnf.batch_norm(torch.ones(2, 4, device=D), torch.zeros(4), torch.ones(4))),
        E(lambda: nnf.softmax(x, 5)),
    ]
