"""torch.func on simulated tensors: vmap, grad and jvp wrap arguments in C++; the wrappers are marked too."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

from grader.simgpu.tensors import SIMULATED, mark

_MODULES = ("predispatch", "eager_transforms", "autograd_function", "vmap", "functional_call", "utils")
_WRAPPERS = ("_wrap_for_grad", "_unwrap_for_grad", "_add_batch_dim", "_remove_batch_dim", "unwrap_if_dead")


def _keeping_mark(func: Any) -> Any:
    @functools.wraps(func)
    def wrapper(tensor, *args, **kwargs):
        result = func(tensor, *args, **kwargs)
        if result is not tensor and type(tensor) in SIMULATED and isinstance(result, torch.Tensor):
            mark(result)
        return result

    return wrapper


def _find() -> list[tuple[Any, str, Any]]:
    """The C functions, wherever functorch's modules have bound them under whatever name."""
    by_id = {id(f): _keeping_mark(f) for f in (getattr(torch._C._functorch, n, None) for n in _WRAPPERS) if f}
    found = []
    for name in _MODULES:
        try:
            module = importlib.import_module(f"torch._functorch.{name}")
        except ImportError:  # not every version has them all
            continue
        found += [(module, n, by_id[id(v)]) for n, v in vars(module).items() if id(v) in by_id]
    return found


_PATCHES = _find()


def patches():
    yield from _PATCHES
