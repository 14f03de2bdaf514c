"""PyTorch's tutorials: training loops, optimisers, data, saving, autocast."""

import io
import math
import pickle

import torch
import torch.nn as nn
import torch.nn.functional as nnf
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

from . import tutorial
from .harness import D, F, T, V, case, meta


@case("tutorial/quickstart_loop")
def quickstart_loop():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    xs = torch.arange(32, dtype=torch.float32).view(8, 4) / 32
    ys = torch.tensor([0, 1] * 4)
    loader = DataLoader(TensorDataset(xs, ys), batch_size=4)
    model = tutorial.model().to(device)
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
    where = str(next(model.parameters()).device)
    return [tutorial.rounded(losses), lines, round(test_loss, 3), correct, where]


@case("tutorial/optimizers_agree_with_the_hosts")
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
        outcome[name] = tutorial.rounded(w.tolist(), 2)
    return outcome


@case("tutorial/schedulers_clipping_and_parameter_groups")
def schedulers_clipping_and_parameter_groups():
    model = tutorial.model().cuda()
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


@case("tutorial/save_and_load_a_state_dict")
def save_and_load_a_state_dict():
    model, file = tutorial.model().cuda(), io.BytesIO()
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
    fresh = tutorial.model()
    matched = fresh.load_state_dict(torch.load(file, weights_only=True))
    return [answers, str(matched), str(fresh[1].weight.device), V(fresh[3].bias)]


@case("tutorial/save_a_checkpoint_and_go_on")
def save_a_checkpoint_and_go_on():
    def made():
        model = tutorial.model().to(D)
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


@case("tutorial/save_a_whole_model")
def save_a_whole_model():
    file = io.BytesIO()
    model = tutorial.model().cuda().eval()
    torch.save(model, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    x = F(4).view(1, 4)
    dumped = pickle.loads(pickle.dumps(F(3)))
    return [torch.equal(again(x), model(x)), str(again[1].weight.device), meta(dumped), V(dumped)]


@case("tutorial/autocast_and_scaler")
def autocast_and_scaler():
    model = tutorial.model().cuda()
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


@case("tutorial/data_loaders")
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


@case("tutorial/data_loader_workers")
def data_loader_workers():
    total = torch.zeros(1, device=D)
    for batch in DataLoader(_Squares(), batch_size=2, num_workers=1):
        total += batch["x"].cuda().sum()
    return total.item()
