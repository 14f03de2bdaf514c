"""What PyTorch's tutorials do with a GPU: models, loops, data, saving, printing."""

import copy
import io
import json
import math
import pickle
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as nnf
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

from .harness import D, E, F, T, V, case, meta


def _model():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(torch.linspace(-0.5, 0.7, p.numel()).view_as(p) * (i + 1))
    return model


def _rounded(values, digits=3):
    return [round(v, digits) + 0.0 for v in values]  # -0.0 becomes 0.0


@case("tutorial/quickstart_loop", recorded=False)
def quickstart_loop():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    xs = torch.arange(32, dtype=torch.float32).view(8, 4) / 32
    ys = torch.tensor([0, 1] * 4)
    loader = DataLoader(TensorDataset(xs, ys), batch_size=4)
    model = _model().to(device)
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1)
    losses, lines = [], []
    for _ in range(2):
        model.train()
        for batch, (X, y) in enumerate(loader):
            X, y = X.to(device), y.to(device)
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            current = (batch + 1) * len(X)
            lines.append(f"loss: {loss.item():>7.3f}  [{current:>5d}/{len(loader.dataset):>5d}]")
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in loader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    return [_rounded(losses), lines, round(test_loss, 3), correct, str(next(model.parameters()).device)]


@case("tutorial/optimizers_agree_with_the_hosts", recorded=False)
def optimizers_agree_with_the_hosts():
    outcome = {}
    optim = torch.optim
    for name, make in {
        "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
        "adam": lambda p: optim.Adam(p, lr=0.1),
        "fused": lambda p: optim.Adam(p, lr=0.1, fused=True),
        "adamw": lambda p: optim.AdamW(p, lr=0.1),
        "capturable": lambda p: optim.AdamW(p, lr=0.1, capturable=True),
        "rmsprop": lambda p: optim.RMSprop(p, lr=0.01),
        "adagrad": lambda p: optim.Adagrad(p, lr=0.1),
        "lbfgs": lambda p: optim.LBFGS(p, lr=0.5, max_iter=3),
    }.items():
        w = F(3, 1).requires_grad_()
        opt = make([w])

        def closure(w=w, opt=opt):
            opt.zero_grad()
            loss = ((w - 1) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(3):
            opt.step(closure)
        outcome[name] = _rounded(w.tolist(), 2)
    return outcome


@case("tutorial/schedulers_clipping_and_parameter_groups", recorded=False)
def schedulers_clipping_and_parameter_groups():
    model = _model().cuda()
    opt = torch.optim.SGD(
        [{"params": model[1].parameters(), "lr": 0.01}, {"params": model[3].parameters()}], lr=0.1
    )
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    model(F(8).view(2, 4)).sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    total = math.sqrt(sum(p.grad.norm().item() ** 2 for p in model.parameters()))
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    opt.step()
    scheduler.step()
    most = max(p.grad.abs().max().item() for p in model.parameters())
    return [str(norm.device), norm.item() > 1, round(total, 3), round(most, 4), scheduler.get_last_lr()]


@case("tutorial/save_and_load_a_state_dict", recorded=False)
def save_and_load_a_state_dict():
    model, file = _model().cuda(), io.BytesIO()
    torch.save(model.state_dict(), file)
    answers = []
    for where in (
        None,
        "cpu",
        "cuda",
        torch.device("cuda:0"),
        lambda storage, loc: storage,
        {"cuda:0": "cpu"},
    ):
        file.seek(0)
        state = torch.load(file, map_location=where, weights_only=True)
        answers.append([list(state), meta(state["1.weight"])])
    file.seek(0)
    fresh = _model()
    matched = fresh.load_state_dict(torch.load(file, weights_only=True))
    return [answers, str(matched), str(fresh[1].weight.device), V(fresh[3].bias)]


@case("tutorial/save_a_checkpoint_and_go_on", recorded=False)
def save_a_checkpoint_and_go_on():
    def made():
        model = _model().to(D)
        return model, torch.optim.Adam(model.parameters(), lr=0.01)

    model, opt = made()
    x = F(8).view(2, 4) / 8
    model(x).sum().backward()
    opt.step()
    file = io.BytesIO()
    torch.save(
        {"epoch": 3, "model": model.state_dict(), "opt": opt.state_dict(), "loss": model(x).sum()}, file
    )
    file.seek(0)
    checkpoint = torch.load(file, weights_only=False)
    again, opt2 = made()
    again.load_state_dict(checkpoint["model"])
    opt2.load_state_dict(checkpoint["opt"])
    same = [torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True)]
    devices = sorted({str(v.device) for s in opt2.state.values() for v in s.values()})
    return [
        checkpoint["epoch"],
        same,
        devices,
        str(checkpoint["loss"].device),
        checkpoint["loss"].requires_grad,
    ]


@case("tutorial/save_a_whole_model", recorded=False)
def save_a_whole_model():
    file = io.BytesIO()
    model = _model().cuda().eval()
    torch.save(model, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    x = F(4).view(1, 4)
    dumped = pickle.loads(pickle.dumps(F(3)))
    return [torch.equal(again(x), model(x)), str(again[1].weight.device), meta(dumped), V(dumped)]


@case("tutorial/printing", recorded=False)
def printing():
    x = F(3) / 2
    s = T(3.14159)
    return [
        str(x),
        repr(s),
        f"{s:.2f}",
        f"{s:>10.3f}|",
        f"{x}",
        f"{x[1]:.1f}",
        f"{T(7)}",
        f"{T(7):03d}",
        f"{s:.1f} {x[0]}",
        "%.2f" % s,  # noqa: UP031
        str(T(True)),
        str(T([])),
        str(x.view(3, 1)),
        str(T([1, 2], "int64")),
        str(T([1.5], "float16")),
        str(x.requires_grad_()),
        str(x * 2),
        str(x.grad),
        str(torch.zeros(1, 2, device=D).shape),
        str(x.device),
        repr(x.device),
        f"{x.sum().item():.1f}",
        str(torch.zeros(2000, device=D)),
        str(T([float("nan"), float("inf")])),
        f"{T(1 + 2j)}",
        E(lambda: f"{x:.2f}"),
        str([T(1), T(2.5)]),
        str({"loss": T(0.5)}),
    ]


@case("tutorial/printing_modules_and_parameters", recorded=False)
def printing_modules_and_parameters():
    model = _model().cuda()
    return [
        str(model),
        [f"{n} {tuple(p.size())} {p.device} {p[:1].shape}" for n, p in model.named_parameters()],
        str(nn.Parameter(torch.ones(2, device=D))),
        repr(model[3].bias),
        sum(p.numel() for p in model.parameters() if p.requires_grad),
        type(model[1].weight).__name__,
        type(model[1].weight.data).__name__,
        str(nn.ParameterList([nn.Parameter(torch.ones(2, device=D))])),
    ]


@case("tutorial/print_options", recorded=False)
def print_options():
    try:
        torch.set_printoptions(precision=2, sci_mode=False, linewidth=40)
        return [str(F(12) / 7), str(T([[1e-5, 1e5]])), str(T(1e-8))]
    finally:
        torch.set_printoptions(profile="default")


@case("tutorial/numpy_and_python_numbers", recorded=False)
def numpy_and_python_numbers():
    x, a = F(3), np.arange(3, dtype=np.float32)
    return [
        E(x.numpy),
        V(x + torch.from_numpy(a).to(D)),
        x.cpu().numpy(),
        x.detach().cpu().numpy().sum(),
        E(lambda: np.mean(x)),
        E(lambda: np.asarray(x)),
        E(lambda: a + x),
        E(lambda: x + a),
        float(x[2]),
        int(x[1]),
        bool(x[0]),
        math.sqrt(x[2] * 2),
        [10, 20, 30][T(1)],
        x.tolist(),
        list(x[:1]),
        V(torch.tensor(a, device=D)),
        V(torch.as_tensor(a, device=D)),
        V(x * np.float32(2)),
        V(x * np.pi),
        E(lambda: np.float32(2) * x),
        E(lambda: np.array([2.0]) * x),
        len(x),
        round(x[2].item()),
        V(torch.tensor([x[1], x[2]], device=D)),
        E(lambda: str(torch.tensor([x[1], x[2]]).device)),
        sum(x).item(),
        max(x).item(),
        sorted(x.tolist(), reverse=True),
        json.dumps(x.tolist()),
        np.float64(x[1].item()),
        V(x[np.array([0, 2])]),
        V(x[np.array([True, False, True])]),
        V(x[np.int64(1)]),
        x.cpu().numpy().dtype,
        E(lambda: np.stack([x.cpu().numpy(), a])),
        x.numpy(force=True),
        x.requires_grad_().numpy(force=True),
    ]


@case("tutorial/indexing_and_masks", recorded=False)
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


@case("tutorial/shapes", recorded=False)
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


@case("tutorial/autocast_and_scaler", recorded=False)
def autocast_and_scaler():
    model = _model().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    x, y = F(8).view(2, 4) / 8, T([0, 1])
    dtypes = []
    for _ in range(2):
        opt.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            out = model(x)
            loss = nnf.cross_entropy(out, y)
        dtypes += [str(out.dtype), str(loss.dtype)]
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
    with torch.amp.autocast("cuda", dtype=torch.bfloat16), torch.no_grad():
        dtypes += [str(model(x).dtype), str((x @ x.T).dtype), str(x.exp().dtype), str((x + x).dtype)]

    @torch.autocast("cuda")
    def decorated(t):
        return t @ t.T

    dtypes.append(str(decorated(x).dtype))
    return [dtypes, scaler.get_scale(), sorted(scaler.state_dict()), str(model[1].weight.grad.dtype)]


class _Squares(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return {"x": torch.tensor([float(i)]), "y": i * i, "name": f"item{i}"}


@case("tutorial/data_loaders", recorded=False)
def data_loaders():
    seen = []
    for batch in DataLoader(_Squares(), batch_size=4, pin_memory=True):
        x = batch["x"].to(D, non_blocking=True)
        seen.append([batch["x"].is_pinned(), str(x.device), x.flatten().tolist(), batch["y"].cuda().tolist()])
        seen.append([type(batch["name"]).__name__, len(batch["name"])])
    parts = random_split(range(10), [7, 3], generator=torch.Generator().manual_seed(1))
    on_device = TensorDataset(F(4), T([0, 1, 0, 1]))
    pairs = [(x.item(), y.item()) for x, y in on_device]
    batches = [x.tolist() for x, _ in DataLoader(on_device, batch_size=2)]
    g = torch.Generator().manual_seed(0)
    order = [b.tolist() for b in DataLoader(torch.arange(4), shuffle=True, generator=g)]
    collated = next(
        iter(DataLoader(_Squares(), batch_size=2, collate_fn=lambda items: [i["x"].cuda() for i in items]))
    )
    return [seen, [len(p) for p in parts], pairs, batches, sorted(order), meta(collated[0])]


@case("tutorial/data_loader_workers", recorded=False)
def data_loader_workers():
    total = torch.zeros(1, device=D)
    for batch in DataLoader(_Squares(), batch_size=2, num_workers=1, multiprocessing_context="fork"):
        total += batch["x"].cuda().sum()
    return total.item()


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


@case("tutorial/an_image_network", recorded=False)
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


@case("tutorial/module_moves", recorded=False)
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


@case("tutorial/recurrent_and_attention_layers", recorded=False)
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


@case("tutorial/losses", recorded=False)
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
        E(lambda: nnf.cross_entropy(p, T([1.0, 0.0]))),
        E(lambda: nnf.mse_loss(p, y.double())),
        E(lambda: nnf.cross_entropy(p, T([1, 0], "int32"))),
    ]


@case("tutorial/gradients_by_hand", recorded=False)
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


@case("tutorial/rng_on_the_device", recorded=False)
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


@dataclass
class _Batch:
    x: torch.Tensor
    y: torch.Tensor

    def to(self, device):
        return _Batch(self.x.to(device), self.y.to(device))


@case("tutorial/containers_of_tensors", recorded=False)
def containers_of_tensors():
    batch = _Batch(torch.ones(2), torch.zeros(2)).to(D)
    counts = OrderedDict(a=F(2), b=F(3))
    table = {T(1): "one"}
    x = F(2)
    total = sum([x, x], start=torch.zeros(2, device=D))
    rows = torch.stack([torch.stack([x, x + i]) for i in range(2)])
    return [
        meta(batch.x),
        {k: v.cpu().tolist() for k, v in counts.items()},
        len(table),
        V(total),
        V(rows),
        x in [x],
        hash(x) == hash(x),
        x is x.to(D),
        x.to(D, copy=True) is x,
        [t.item() for t in x],
        x == x.clone(),
        E(lambda: x in [F(2) + 5]),
        copy.copy(x).data_ptr() == x.data_ptr(),
        copy.deepcopy(x).data_ptr() == x.data_ptr(),
        V(torch.utils._pytree.tree_map(lambda t: t * 2, {"x": x})["x"]),
        [list(r) for r in F(2).view(2, 1)],
        next(iter(x)).item(),
        [i for i, _ in enumerate(x)],
        [p.item() for p in reversed(x)],
        dict(zip("ab", x, strict=True))["b"],
    ]


@case("tutorial/timing_and_memory_calls", recorded=False)
def timing_and_memory_calls():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    x = torch.ones(64, 64, device=D) @ torch.ones(64, 64, device=D)
    end.record()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = x + 1
    torch.cuda.current_stream().wait_stream(stream)
    y.record_stream(torch.cuda.current_stream())
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with torch.cuda.device(0):
        z = torch.ones(1, device=D)
    with torch.profiler.record_function("part"), torch.cuda.nvtx.range("part"):
        z += 1
    return [
        start.elapsed_time(end) >= 0,
        V(y[0, :1]),
        torch.cuda.memory_allocated() > 0,
        z.item(),
        torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated(),
        torch.cuda.current_device(),
        torch.cuda.device_count() >= 1,
        "GPU" in torch.cuda.get_device_name() or "NVIDIA" in torch.cuda.get_device_name(),
        torch.cuda.is_initialized(),
        torch.cuda.get_device_capability() >= (7, 0),
        isinstance(torch.cuda.memory_summary(), str),
        x.get_device(),
        torch.cuda.is_bf16_supported(),
        torch.cuda.mem_get_info()[0] > 0,
        len(torch.cuda.get_arch_list()) > 0,
        stream.query(),
    ]


@case("tutorial/settings", recorded=False)
def settings():
    torch.set_default_device(D)
    a = torch.zeros(2)
    with torch.device("cpu"):
        b = torch.ones(2)
    layer = nn.Linear(2, 1)
    torch.set_default_device("cpu")
    with torch.device(D):
        c, d = torch.tensor([1.0]), torch.arange(3)
    torch.set_float32_matmul_precision("high")
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.use_deterministic_algorithms(False)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    accelerator = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    return [str(t.device) for t in (a, b, layer.weight, c, d)] + [
        str(device),
        accelerator,
        device == torch.device("cuda"),
    ]


@case("tutorial/linear_algebra", recorded=False)
def linear_algebra():
    a = T([[4.0, 1.0], [1.0, 3.0]], "float64")
    b = T([1.0, 2.0], "float64")
    q, r = torch.linalg.qr(a)
    u, s, vh = torch.linalg.svd(a)
    values, vectors = torch.linalg.eigh(a)
    return [
        _rounded(t.flatten().tolist(), 6)
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


@case("tutorial/reductions_and_sorting", recorded=False)
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


@case("tutorial/mistakes", recorded=False)
def mistakes():
    model, x, c = _model().cuda(), F(4).view(1, 4), torch.ones(1, 4)
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
        E(lambda: x.quantile(torch.tensor(0.5))),
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
        E(lambda: nnf.cosine_similarity(x, c)),
        E(lambda: x.index_add_(0, torch.tensor([0]), x)),
        E(lambda: x.masked_select(torch.tensor([True, False, True, False]))),
        E(lambda: x.masked_fill(torch.tensor([True, False, True, False]), 0)),
        E(lambda: x[torch.tensor([[True, False, True, False]])]),
        E(lambda: nn.Bilinear(4, 4, 2, device=D)(x, c)),
        E(lambda: nnf.batch_norm(torch.ones(2, 4, device=D), torch.zeros(4), torch.ones(4))),
        E(lambda: nnf.softmax(x, 5)),
    ]


@case("tutorial/hooks_of_modules", recorded=False)
def hooks_of_modules():
    net, seen = _model().cuda(), []
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


@case("tutorial/a_function_of_ones_own", recorded=False)
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


@case("tutorial/vmap_and_functional_call", recorded=False)
def vmap_and_functional_call():
    net = nn.Linear(2, 1, device=D)
    params = {k: torch.ones_like(v) for k, v in net.named_parameters()}
    x = F(6).view(3, 2)

    def loss(p, sample):
        return torch.func.functional_call(net, p, (sample.unsqueeze(0),)).sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)
    return [V(torch.func.functional_call(net, params, (x,))), {k: V(v) for k, v in each.items()}]


@case("tutorial/other_layouts_and_types", recorded=False)
def other_layouts_and_types():
    x = T([[0.0, 1.0], [2.0, 0.0]])
    sparse = x.to_sparse()
    csr = x.to_sparse_csr()
    c = torch.complex(F(2), F(2, 1))
    channels = torch.ones(1, 2, 3, 3, device=D).to(memory_format=torch.channels_last)
    nested = torch.nested.nested_tensor([F(2), F(3)], layout=torch.jagged)
    return [
        str(sparse.device),
        V(sparse.to_dense()),
        V(sparse @ F(2).view(2, 1)),
        sparse.is_sparse,
        str(csr.device),
        V(csr @ F(2).view(2, 1)),
        V(c.abs()),
        V(c.conj().imag),
        V(torch.view_as_real(c)),
        meta(channels),
        str(nested.device),
        [V(t) for t in nested.unbind()],
        V(x.to(torch.float8_e4m3fn).float()),
        x.is_floating_point(),
        torch.is_tensor(x),
        torch.is_complex(c),
        x.element_size(),
        x.nbytes,
        x.layout,
        x.type(),
        c.type(),
        isinstance(x, torch.FloatTensor),
        isinstance(x, torch.cuda.FloatTensor),
        x.type(torch.LongTensor).type(),
        torch.result_type(x, 1).__str__(),
        torch.can_cast(torch.float, torch.int),
        torch.finfo(x.dtype).eps,
        torch.promote_types(torch.int8, torch.float16).__str__(),
        x.is_shared(),
        x.is_contiguous(),
        x.ndim,
        x.dim(),
        isinstance(x.cpu(), torch.FloatTensor),
        isinstance(torch.ones(2).long(), torch.LongTensor),
        V(torch.FloatTensor([1, 2])),
        V(torch.LongTensor([1]).cuda()),
        torch.ones(2).type(torch.LongTensor).type(),
    ]
