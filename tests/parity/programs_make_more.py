"""Making and moving tensors: forms that learners write, beyond the first recordings."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import torch

from .harness import D, E, F, L, T, V, case, meta


@case("make/new_star_methods")
def new_star_methods():
    x, c = F(2), torch.ones(2)
    made = (
        x.new_zeros(2, 3),
        x.new_ones(2, dtype=torch.int8),
        x.new_full((2,), 7.0),
        x.new_tensor([1, 2]),
        c.new_zeros(2, device=D),
        c.new_tensor([1.5], device=D),
        x.new_zeros(2, device="cpu"),
        x.new_empty(0),
    )
    return [L(t) for t in made]


@case("make/like_functions")
def like_functions():
    x, c = F(6).view(2, 3).t(), torch.ones(2, 3)
    made = (
        torch.zeros_like(x),
        torch.ones_like(x, dtype=torch.int64),
        torch.full_like(x, 2.5),
        torch.zeros_like(c, device=D),
        torch.zeros_like(x, device="cpu"),
        torch.ones_like(x, memory_format=torch.contiguous_format),
    )
    return [L(t) for t in made]


@case("make/default_device")
def default_device():
    torch.set_default_device(D)
    a = torch.zeros(2)
    b = torch.tensor([1, 2])
    c = torch.zeros(2, device="cpu")
    m = torch.nn.Linear(2, 2)
    torch.set_default_device(None)
    with torch.device(D):
        d = torch.arange(3)
        with torch.device("cpu"):
            e = torch.ones(1)
    return [meta(t) for t in (a, b, c, m.weight, d, e)] + [str(torch.get_default_device())]


@case("make/python_data_under_a_device")
def python_data_under_a_device():
    with torch.device(D):
        made = (
            torch.ones(2),
            torch.as_tensor([1.0]),
            torch.from_numpy(np.ones(2)),
            torch.asarray([1, 2]),
            torch.randn(0),
        )
    return [str(t.device) for t in made]


@case("make/to_forms")
def to_forms():
    x, c = F(2), torch.ones(2, dtype=torch.float64)
    return [
        meta(t)
        for t in (
            x.to(c),
            c.to(x),
            c.to(device=D, dtype=torch.float16),
            c.to(0),
            c.to("cuda:0", torch.int32, True, True),
            x.to(torch.device("cpu"), non_blocking=True),
            x.to(dtype=torch.int64),
            c.to(tensor=x),
            x.to(device=None),
            x.type(torch.float64),
            c.type("torch.cuda.IntTensor"),
            x.type_as(c),
            c.type_as(x),
            x.double(),
            x.bool(),
        )
    ]


@case("make/to_has_no_keyword_other")
def to_has_no_keyword_other():
    return torch.ones(2).to(other=F(2))


@case("make/copies_are_apart")
def copies_are_apart():
    c = torch.zeros(3)
    x = c.to(D)
    c[0] = 5
    y = x.cpu()
    x[1] = 7
    z = x.to(D, copy=True)
    z[2] = 9
    return [V(c), V(x), V(y), V(z)]


@case("make/views_share_memory")
def views_share_memory():
    x = F(12).view(3, 4)
    x[1:, ::2].fill_(-1)
    x.t()[0].add_(100)
    x.diagonal().zero_()
    x.view(-1)[5:7] = T([50.0, 60.0])
    a, b = x.split(2)
    a.mul_(2)
    return [
        V(x),
        L(x[1:, ::2]),
        L(x.t()),
        L(x.unsqueeze(0).expand(2, 3, 4)),
        L(x.unfold(1, 2, 2)),
        b.data_ptr() > a.data_ptr(),
    ]


@case("make/what_an_index_may_be")
def what_an_index_may_be():
    x = F(6).view(2, 3)
    return [
        V(x[torch.tensor([1, 0])]),
        V(x[T([1])]),
        V(x[x > 2]),
        V(x[(x > 2).cpu()]),
        V(x[..., -1]),
        V(x[None, 0]),
        V(x[T(1)]),
        V(x[T([0, 1]), torch.tensor([2, 0])]),
        E(lambda: torch.arange(3)[T([0])]),
        E(lambda: x[5]),
        E(lambda: x[0, 0, 0]),
        E(lambda: x["a"]),
        E(lambda: x[1.5]),
        [1, 2, 3][T(1)],
        list(range(T(2))),
    ]


@case("make/out_arguments")
def out_arguments():
    x, o = F(3), torch.empty(3, device=D)
    r = torch.add(x, 1, out=o)
    small = torch.empty(0, device=D)
    torch.mul(x, 2, out=small)
    return [
        r is o,
        V(o),
        V(small),
        E(lambda: torch.add(x, 1, out=torch.empty(3)).shape),
        E(lambda: torch.add(x, 1, out=torch.empty(3, dtype=torch.int64, device=D)).shape),
    ]


@case("make/numpy_is_refused")
def numpy_is_refused():
    x = F(2)
    return [
        E(x.numpy),
        E(np.asarray, x),
        E(np.array, x),
        E(np.sin, x),
        E(lambda: x.numpy(force=True)),
        E(lambda: x.cpu().numpy()),
        E(np.asarray, [T(1.0), T(2.0)]),
    ]


@case("make/printing")
def printing():
    x = F(2, 1)
    w = F(2).requires_grad_()
    shown = (
        x,
        T(3),
        T([True]),
        x.half(),
        w,
        w * 2,
        torch.empty(0, device=D),
        torch.empty(0, 2, device=D),
        T([1 + 2j]),
        torch.nn.Parameter(x.clone()),
        torch.arange(2000, device=D),
        {"a": x},
        (x,),
    )
    return [repr(t) for t in shown] + [
        f"{T(1.23456):.2f}",
        f"{x}",
        str(T([0.5], "float64")),
        E(lambda: f"{x:.1f}"),
    ]


@case("make/type_names")
def type_names():
    x = F(2)
    return [
        x.type(),
        T([1]).type(),
        T([True]).type(),
        x.half().type(),
        x.bfloat16().type(),
        type(x).__name__,
        torch.typename(x),
        isinstance(x, torch.Tensor),
        torch.is_tensor(x),
        isinstance(x, torch.cuda.FloatTensor),
        isinstance(torch.ones(1), torch.cuda.FloatTensor),
    ]


@case("make/python_conversions")
def python_conversions():
    x = F(2)
    return [
        E(f)
        for f in (
            lambda: bool(x),
            lambda: int(x),
            lambda: float(x),
            lambda: x.item(),
            lambda: len(T(1)),
            lambda: list(T(1)),
            lambda: 1 in x,
            lambda: 7 in x,
            lambda: bool(torch.empty(0, device=D)),
            lambda: T(2).__index__(),
            lambda: T(2.0).__index__(),
            lambda: divmod(T(7), 2)[1].item(),
        )
    ]


@case("make/pickles_and_copies")
def pickles_and_copies():
    x = F(4)
    y = pickle.loads(pickle.dumps(x[1:]))
    a, b = copy.deepcopy([x, x[1:]])
    a[1] = 50
    m = torch.nn.Linear(2, 1).to(D)
    n = copy.deepcopy(m)
    return [
        L(y),
        V(b),
        str(n.weight.device),
        type(n.weight).__name__,
        n.weight.data_ptr() != m.weight.data_ptr(),
        n.weight.requires_grad,
    ]


@case("make/state_dict_round_trip")
def state_dict_round_trip():
    m = torch.nn.Linear(2, 1).to(D)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[1.0, 2.0]]))
        m.bias.zero_()
    b = io.BytesIO()
    torch.save(m.state_dict(), b)
    b.seek(0)
    on_host = torch.load(b, map_location="cpu")
    host = torch.nn.Linear(2, 1)
    host.load_state_dict(on_host)
    host.load_state_dict(m.state_dict())
    return [
        str(on_host["weight"].device),
        str(host.weight.device),
        V(host(torch.ones(1, 2))),
        V(m(torch.ones(1, 2, device=D))),
    ]


@case("make/storages")
def storages():
    x = F(4)
    s = x.untyped_storage()
    return [
        str(s.device),
        s.nbytes(),
        s.data_ptr() == x.data_ptr(),
        str(s.cpu().device),
        x[2:].untyped_storage().data_ptr() == s.data_ptr(),
        x[2:].storage_offset(),
        s.is_cuda,
    ]


@case("make/dlpack")
def dlpack():
    x = F(3)
    y = torch.from_dlpack(x)
    y[0] = 5
    kind, index = x.__dlpack_device__()
    return [V(x), str(y.device), int(kind), index, "exc" in E(np.from_dlpack, x)]
