"""PyTorch's tutorials: printing, NumPy, Python's containers, settings, other kinds of tensor."""

import copy
import json
import math
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn

from . import tutorial
from .harness import D, E, F, T, V, case, meta


@case("tutorial/printing")
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


@case("tutorial/printing_modules_and_parameters")
def printing_modules_and_parameters():
    model = tutorial.model().cuda()
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


@case("tutorial/print_options")
def print_options():
    try:
        torch.set_printoptions(precision=2, sci_mode=False, linewidth=40)
        return [str(F(12) / 7), str(T([[1e-5, 1e5]])), str(T(1e-8))]
    finally:
        torch.set_printoptions(profile="default")


@case("tutorial/numpy_and_python_numbers")
def numpy_and_python_numbers():
    x, a = F(3), np.arange(3, dtype=np.float32)
    return [
        E(x.numpy),
        V(x + torch.from_numpy(a).to(D)),
        x.cpu().numpy(),
        x.detach().cpu().numpy().sum(),
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
        float(np.float64(x[1].item())),
        V(x[np.array([0, 2])]),
        V(x[np.array([True, False, True])]),
        V(x[np.int64(1)]),
        x.cpu().numpy().dtype,
        E(lambda: np.stack([x.cpu().numpy(), a])),
        x.numpy(force=True),
        x.requires_grad_().numpy(force=True),
    ]


@dataclass
class _Batch:
    x: torch.Tensor
    y: torch.Tensor

    def to(self, device):
        return _Batch(self.x.to(device), self.y.to(device))


@case("tutorial/containers_of_tensors")
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


@case("tutorial/timing_and_memory_calls")
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


@case("tutorial/settings")
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


@case("tutorial/other_layouts_and_types")
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
