"""Making, moving and looking at tensors on the device."""

from __future__ import annotations

import copy
import io

import numpy as np
import torch

from .harness import ET, D, E, F, L, T, V, case, meta


@case("make/factories")
def factories():
    return [
        L(t)
        for t in (
            torch.zeros(2, 3, device=D),
            torch.ones(2, dtype=torch.int16, device=D),
            torch.full((2,), 7, device=D),
            torch.full((2,), 0.5, device=D),
            torch.arange(5, device=D),
            torch.arange(0.5, 2.5, 0.5, device=D),
            torch.linspace(0, 1, 5, device=D),
            torch.eye(2, device=D),
            torch.tensor([[1, 2], [3, 4]], device=D),
            torch.tensor(True, device=D),
            torch.tensor(2 + 1j, device=D),
            torch.logspace(0, 2, 3, device=D),
            torch.tril_indices(2, 2, device=D),
            torch.full((), True, device=D),
            torch.hann_window(4, device=D),
        )
    ]


@case("make/devices_that_do_not_exist")
def devices_that_do_not_exist():
    return [E(torch.zeros, 1, device=d) for d in ("gpu", "cuda:-1", "cuda:x", "cuda0", "CUDA", "", -1)] + [
        ET(torch.zeros, 1, device="cuda:99"),
        E(torch.zeros, 1, device=1.5),
        E(torch.zeros, 1, device=["cuda"]),
    ]


@case("make/legacy_constructors")
def legacy_constructors():
    return [
        E(lambda: L(torch.cuda.FloatTensor([1.0, 2.0]))),
        E(lambda: meta(torch.cuda.LongTensor(2, 3))),
        E(lambda: L(torch.cuda.DoubleTensor([[1, 2]]))),
        E(lambda: meta(torch.cuda.HalfTensor())),
    ]


@case("make/from_numpy_and_as_tensor")
def from_numpy_and_as_tensor():
    a = np.array([1.0, 2.0])
    t = torch.as_tensor(a, device=D)
    a[0] = 50
    u = torch.from_numpy(np.arange(3)).to(D)
    same = torch.as_tensor(u, device=D)
    return [
        L(t),
        L(u),
        same is u,
        same.data_ptr() == u.data_ptr(),
        meta(torch.asarray([1.5], device=D)),
        meta(torch.as_tensor(u, dtype=torch.float32)),
        meta(torch.as_tensor([1, 2], device=D)),
    ]


@case("make/pinned_on_the_device_is_refused")
def pinned_on_the_device_is_refused():
    return [
        E(torch.zeros, 2, device=D, pin_memory=True),
        E(lambda: F(2).pin_memory()),
        E(torch.empty, 2, device=D, pin_memory=True),
    ]


@case("make/bad_sizes")
def bad_sizes():
    return [
        E(torch.zeros, -1, device=D),
        E(torch.zeros, 2, 1.5, device=D),
        ET(torch.zeros, 2**62, 2**62, device=D),
        E(torch.arange, 0, 5, -1, device=D),
        E(torch.tensor, [[1, 2], [3]], device=D),
        E(torch.tensor, "abc", device=D),
    ]


@case("make/attributes")
def attributes():
    x = torch.zeros(2, 3, device=D)
    return [
        x.is_cuda,
        x.is_cpu,
        x.get_device(),
        torch.ones(1).get_device(),
        x.device.type,
        x.is_sparse,
        str(x.layout),
        x.requires_grad,
        x.is_leaf,
        x.dim(),
        x.numel(),
        x.is_pinned(),
        x.is_quantized,
        x.is_meta,
        x.nelement(),
        len(x),
        x.itemsize,
        x.is_mps if hasattr(x, "is_mps") else None,
    ]


@case("make/to_itself")
def to_itself():
    x = F(2)
    return [
        x.to(D) is x,
        x.to("cuda:0") is x,
        x.cuda() is x,
        x.cuda(0) is x,
        x.to(0) is x,
        x.to(torch.float32) is x,
        x.to(x.device) is x,
        x.to(D, copy=True) is x,
        x.to(D, torch.float16) is x,
        x.float() is x,
        x.contiguous() is x,
        x.cpu().cpu() is x,
        torch.ones(1).cpu().device.type,
    ]


@case("make/to_errors")
def to_errors():
    x = F(2)
    return [
        E(x.to, "gpu"),
        E(x.to, "cuda", "float32"),
        E(x.cuda, "cpu"),
        E(torch.ones(1).cuda, torch.device("cpu")),
        E(x.to),
        ET(x.to, "cuda:77"),
        E(x.cuda, 1.5),
        E(x.cpu, "x"),
    ]


@case("make/strides_survive_the_move")
def strides_survive_the_move():
    c = torch.arange(6.0).view(2, 3).t()
    cl = torch.ones(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    return [
        L(c.to(D)),
        meta(cl.to(D)),
        meta(torch.ones(2, 1).expand(2, 3).to(D)),
        meta(c.to(D).cpu()),
        meta(torch.arange(10.0)[::3].to(D)),
        meta(c.to(D, memory_format=torch.contiguous_format)),
    ]


@case("make/item_and_friends")
def item_and_friends():
    x = T([3.75])
    return [
        x.item(),
        T(7).item(),
        T(True).item(),
        T(1 + 2j).item(),
        float(x),
        int(x),
        bool(T(0.0)),
        bool(T([2])),
        complex(T(2.0)),
        T([[5]]).item(),
        type(T(3).item()).__name__,
        type(T(3.0, "float16").item()).__name__,
        round(float(T(0.1, "float16")), 6),
    ]


@case("make/tolist")
def tolist():
    return [
        F(3).tolist(),
        T(2.5).tolist(),
        T([[1, 2], [3, 4]]).tolist(),
        torch.empty(0, device=D).tolist(),
        T([True, False]).tolist(),
        T([1.5, 2.5], "bfloat16").tolist(),
        T([1 + 1j]).tolist(),
        F(6).view(2, 3).t().tolist(),
        torch.empty(2, 0, device=D).tolist(),
    ]


@case("make/numpy_scalars_mix")
def numpy_scalars_mix():
    x = F(3)
    return [
        E(lambda: L(x + np.float32(1.5))),
        E(lambda: L(x * np.int64(2))),
        E(lambda: L(T([1, 2]) + np.float64(0.5))),
        E(lambda: type(np.float32(2.0) * x).__name__),
        E(lambda: L(x[np.array([0, 2])])),
        E(lambda: L(x[np.int64(1)])),
    ]


@case("make/unpacking_and_hash")
def unpacking_and_hash():
    a, b = F(2)
    x = F(2)
    return [
        a.item(),
        b.device.type,
        hash(x) == id(x),
        x in {x},
        (x == x).tolist(),
        x is x,
        E(lambda: x == "a"),
        E(lambda: x == None),  # noqa: E711
        E(lambda: x != None),  # noqa: E711
    ]


@case("make/array_interface")
def array_interface():
    def face(t):
        i = t.__cuda_array_interface__
        return [
            sorted(i),
            i["typestr"],
            list(i["shape"]),
            i["strides"],
            i["version"],
            i["data"][0] == t.data_ptr(),
            i["data"][1],
        ]

    return [
        face(F(3)),
        face(F(6).view(2, 3).t()),
        face(F(6)[::2]),
        face(T([True])),
        face(T([1j])),
        face(T([1], "uint8")),
        face(T(1.0, "float16")),
        face(T([1, 2])),
        E(face, T([1.0], "bfloat16")),
    ]


@case("make/save_and_load")
def save_and_load():
    def through(obj, **kw):
        b = io.BytesIO()
        torch.save(obj, b)
        b.seek(0)
        return torch.load(b, **kw)

    x = F(3)
    d = through({"a": x, "b": x[1:], "n": 5})
    d["a"][1] = 77
    return [
        L(through(x)),
        str(through(x, map_location="cpu").device),
        str(through(x.cpu(), map_location=D).device),
        V(d["b"]),
        str(through({"w": x}, weights_only=True)["w"].device),
        str(through(x, map_location=lambda s, loc: s).device),
        str(through(x, map_location={"cuda:0": "cpu"}).device),
    ]


@case("make/deepcopy")
def deepcopy():
    x = F(3)
    y, z = copy.deepcopy(x), copy.copy(x)
    y[0] = 5
    pair = copy.deepcopy([x, x])
    return [
        V(x),
        L(y),
        z.data_ptr() == x.data_ptr(),
        y.data_ptr() != x.data_ptr(),
        pair[0] is pair[1],
        E(copy.deepcopy, x.requires_grad_() * 2),
    ]
