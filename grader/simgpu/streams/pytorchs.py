"""PyTorch's own `torch/cuda/streams.py` over our bases in place of those in C."""

from __future__ import annotations

import functools
import importlib.util
import types
from typing import Any

import torch
import torch.cuda.streams as original

from grader.simgpu.streams import events, views


class _BuiltWithCuda:
    """`torch` as that file sees it: its classes ask whether PyTorch was built with CUDA. The rest of PyTorch
    must not be told so, for it would look for more than streams.
    """

    backends = types.SimpleNamespace(cuda=types.SimpleNamespace(is_built=lambda: True))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


NAMES = ("Stream", "Event", "ExternalStream")


@functools.cache
def module() -> types.ModuleType:
    """`torch.cuda.streams`, run again on the bases of the simulated device."""
    spec = importlib.util.find_spec(original.__name__)
    ours = importlib.util.module_from_spec(spec)
    bases = {"_CudaStreamBase": views.CudaStreamBase, "_CudaEventBase": events.CudaEventBase}
    before = {name: getattr(torch._C, name) for name in bases}
    try:
        for name, base in bases.items():
            setattr(torch._C, name, base)
        spec.loader.exec_module(ours)
    finally:
        for name, base in before.items():
            setattr(torch._C, name, base)
    ours.torch = _BuiltWithCuda()
    return ours


def _made_by(cls: type):
    """`__new__` for PyTorch's class that was imported before the simulated GPU was switched on."""

    def __new__(_, *args, **kwargs):
        return cls(*args, **kwargs)

    return staticmethod(__new__)


def patches():
    ours = module()
    for name in NAMES:
        cls = getattr(ours, name)
        yield torch.cuda, name, cls
        yield getattr(original, name), "__new__", _made_by(cls)
        yield original, name, cls
    yield torch._C, "_CudaStreamBase", views.CudaStreamBase
    yield torch._C, "_CudaEventBase", events.CudaEventBase
