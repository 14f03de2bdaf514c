"""PyTorch's tutorials: modules, losses, hooks, gradients."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as nnf

from . import tutorial
from .harness import D, E, F, T, V, case, meta


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(2 * 4 * 4, 3)
        self.register_buffer("steps", torch.zeros(1))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.steps += 1
        x = nnf.max_pool2d(nnf.relu(self.norm(self.conv(x))), 2)
        return self.fc(self.drop(torch.flatten(x, 1))) * self.scale


@case("tutorial/an_image_network")
def an_image_network():
    net = _Net().cuda()
    x = torch.randn(2, 1, 8, 8, device=D)
    out = net(x)
    nnf.nll_loss(nnf.log_softmax(out, dim=1), T([0, 2])).backward()
    grads = {n: [list(p.grad.shape), str(p.grad.device)] for n, p in net.named_parameters()}
    net.eval()
    with torch.inference_mode():
        again = net(x)
    net.cpu()
    host = net(x.cpu())
    close = torch.allclose(host, again.cpu(), rtol=1e-2, atol=1e-2)
    return [
        meta(out),
        out.requires_grad,
        grads,
        again.is_inference(),
        net.steps,
        close,
        str(net.norm.running_mean.device),
    ]


@case("tutorial/module_moves")
def module_moves():
    net = _Net()
    before = [id(p) for p in net.parameters()]
    same = net.to(D) is net
    kept = before == [id(p) for p in net.parameters()]
    half = copy.deepcopy(net).half()
    double = copy.deepcopy(net).to("cpu", torch.float64)
    on_meta = nn.Linear(2, 2, device="meta").to_empty(device=D)
    return [
        same,
        kept,
        {str(b.device) for b in net.buffers()},
        str(half.fc.weight.dtype),
        str(half.fc.weight.device),
        meta(double.scale),
        meta(on_meta.weight)[3],
        {str(v.device) for v in net.state_dict().values()},
        meta(nn.Linear(2, 2, device=D, dtype=torch.float64).weight),
        nn.Linear(2, 2).cuda(0).weight.is_cuda,
        meta(net.type(torch.float64).scale),
        str(net.float().cpu().scale.device),
        next(net.to(torch.device("cuda", 0)).parameters()).is_cuda,
        E(lambda: nn.Linear(2, 2).cuda(7)),
        E(lambda: nn.Linear(2, 2).to("gpu")),
    ]


@case("tutorial/recurrent_and_attention_layers")
def recurrent_and_attention_layers():
    x = torch.randn(2, 5, 8, device=D)
    out, (h, c) = nn.LSTM(8, 4, num_layers=2, batch_first=True, device=D)(x)
    gru, hidden = nn.GRU(8, 4, batch_first=True).cuda()(x)
    attended, weights = nn.MultiheadAttention(8, 2, batch_first=True, device=D)(x, x, x)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device=D)
    encoded = nn.TransformerEncoder(layer, 2)(x)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
    packed, _ = nn.GRU(8, 8, batch_first=True, device=D)(packed)
    unpacked, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    padded = nn.utils.rnn.pad_sequence([F(2), F(3)], batch_first=True)
    sdpa = nnf.scaled_dot_product_attention(x, x, x, is_causal=True)
    emb = nn.Embedding(10, 3, padding_idx=0, device=D)(T([[1, 2], [0, 4]]))
    bag = nn.EmbeddingBag(10, 3, device=D)(T([1, 2, 4]), T([0, 2]))
    tensors = (out, h, c, gru, hidden, attended, weights, encoded, unpacked, lengths, padded, sdpa, emb, bag)
    return [[list(t.shape), str(t.device)] for t in tensors]


@case("tutorial/losses")
def losses():
    p, y = T([[0.2, 0.8], [0.6, 0.4]]), T([[0.0, 1.0], [1.0, 0.0]])
    return [
        [type(f).__name__, round(f(p, y).item(), 4)]
        for f in (
            nn.MSELoss(),
            nn.L1Loss(),
            nn.BCELoss(),
            nn.BCEWithLogitsLoss(),
            nn.SmoothL1Loss(),
            nn.HuberLoss(),
            nn.CrossEntropyLoss(label_smoothing=0.1),
            nn.KLDivLoss(reduction="batchmean"),
            nn.PoissonNLLLoss(),
            nn.CrossEntropyLoss(weight=T([1.0, 2.0])),
            nn.SoftMarginLoss(),
            nn.MultiLabelSoftMarginLoss(),
        )
    ] + [
        nnf.cross_entropy(p, T([1, 0])).item() > 0,
        E(lambda: nnf.mse_loss(p, y.double())),
    ]


@case("tutorial/gradients_by_hand")
def gradients_by_hand():
    x = torch.linspace(-math.pi, math.pi, 200, device=D)
    y = torch.sin(x)
    a, b = (torch.full((), v, device=D, requires_grad=True) for v in (0.1, 0.2))
    losses = []
    for _ in range(3):
        loss = (a + b * x - y).pow(2).sum()
        losses.append(round(loss.item(), 1))
        loss.backward()
        with torch.no_grad():
            a -= 1e-3 * a.grad
            b -= 1e-3 * b.grad
            a.grad = None
            b.grad.zero_()
    w = F(2, 1).requires_grad_()
    z = (w**2).sum()
    (first,) = torch.autograd.grad(z, w, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), w)
    detached = (w * 2).detach()
    jacobian = torch.autograd.functional.jacobian(lambda t: t**2, F(2, 1))
    hessian = torch.func.hessian(lambda t: (t**3).sum())(F(2, 1))
    return [
        losses,
        a.is_leaf,
        b.grad.item(),
        V(first),
        V(second),
        detached.requires_grad,
        V(jacobian),
        V(hessian),
        E(lambda: (w * 2).backward()),
        E(z.backward),
        E(lambda: z.backward()),
        E(lambda: w.mul_(2)),
        E(lambda: T([1, 2], requires_grad=True)),
        E(lambda: (w * 2).numpy()),
        str(z.grad_fn.name()),
        torch.is_grad_enabled(),
        w.grad is None,
    ]


@case("tutorial/hooks_of_modules")
def hooks_of_modules():
    net, seen = tutorial.model().cuda(), []
    net[1].register_forward_hook(lambda m, i, o: seen.append(["out", str(o.device), list(o.shape)]))
    net[1].register_forward_pre_hook(lambda m, i: seen.append(["in", str(i[0].device)]))
    net[3].register_full_backward_hook(
        lambda m, gi, go: seen.append(["grad", str(gi[0].device), str(go[0].device)])
    )
    net[3].weight.register_hook(lambda g: g * 2)
    net[3].weight.register_post_accumulate_grad_hook(lambda p: seen.append(["acc", str(p.grad.device)]))
    out = net(F(4).view(1, 4))
    out.grad_fn.register_hook(
        lambda gi, go: seen.append(["node", [str(g.device) for g in gi if g is not None]])
    )
    out.grad_fn.register_prehook(lambda go: seen.append(["pre", str(go[0].device)]))
    torch.autograd.graph.register_multi_grad_hook(
        list(net[1].parameters()), lambda gs: seen.append(["multi", [str(g.device) for g in gs]])
    )
    out.retain_grad()
    out.sum().backward()
    return [sorted(seen, key=str), str(out.grad.device)]


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale=1.0):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return ctx.scale * 3 * x**2 * g, None


@case("tutorial/a_function_of_ones_own")
def a_function_of_ones_own():
    x = F(3, 1).requires_grad_()
    y = _Cube.apply(x, 2.0)
    y.sum().backward()
    checked = torch.autograd.gradcheck(_Cube.apply, (T([1.0, 2.0], "float64", requires_grad=True),))
    host = torch.ones(2, requires_grad=True)
    _Cube.apply(host).sum().backward()
    names = [type(y.grad_fn).__name__, y.grad_fn.name()]
    fn = y.grad_fn.next_functions[0][0]
    return [
        V(x.grad),
        checked,
        str(host.grad.device),
        names,
        type(fn).__name__,
        fn.variable is x,
        str(fn.variable.device),
    ]


@case("tutorial/vmap_and_functional_call")
def vmap_and_functional_call():
    net = nn.Linear(2, 1, device=D)
    params = {k: torch.ones_like(v) for k, v in net.named_parameters()}
    x = F(6).view(3, 2)

    def loss(p, sample):
        return torch.func.functional_call(net, p, (sample.unsqueeze(0),)).sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)
    return [V(torch.func.functional_call(net, params, (x,))), {k: V(v) for k, v in each.items()}]
