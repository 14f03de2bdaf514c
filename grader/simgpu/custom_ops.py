"""Learners' own operators (`torch.library`) on simulated tensors.

A simulated tensor's dispatch key is the CPU's. So an operator's kernels for CPU and CUDA are both put behind
the CPU key, and chosen by where the call's tensors are.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.library
from torch.utils._pytree import tree_any

from grader.simgpu.tensors import SimTensor
from grader.simgpu.tracking import learners_code

_impl = torch.library.Library.impl
_BACKENDS = ("CPU", "CUDA")
_LEARNERS_KEYS = (*_BACKENDS, "CompositeExplicitAutograd", "CompositeImplicitAutograd")
_kernels: dict[str, dict[str, Any]] = {}  # "namespace::operator" -> its kernels by backend


def _seeing(fn: Any) -> Any:
    """The dispatcher calls kernels with `__torch_function__` switched off; learners' kernels need it."""

    @functools.wraps(fn)
    def kernel(*args, **kwargs):
        with learners_code():
            return fn(*args, **kwargs)

    return kernel


def _chooser(name: str, kernels: dict[str, Any]) -> Any:
    def choose(*args, **kwargs):
        backend = "CUDA" if tree_any(lambda v: isinstance(v, SimTensor), (args, kwargs)) else "CPU"
        if backend not in kernels:
            raise NotImplementedError(
                f"Could not run '{name}' with arguments from the '{backend}' backend. This could be because "
                "the operator doesn't exist for this backend, or was omitted during the selective/custom "
                "build process."
            )
        return kernels[backend](*args, **kwargs)

    return choose


def impl(self, op_name, fn, dispatch_key="", **kwargs):
    """Library.impl"""
    plain = not callable(fn) or fn is torch.library.fallthrough_kernel or kwargs.get("with_keyset")
    if plain or self.ns in ("aten", "prims") or dispatch_key not in _LEARNERS_KEYS:
        return _impl(self, op_name, fn, dispatch_key, **kwargs)
    kernel = _seeing(fn)
    if dispatch_key not in _BACKENDS:
        return _impl(self, op_name, kernel, dispatch_key, **kwargs)
    name = op_name if isinstance(op_name, str) else op_name._schema.name
    name = f"{self.ns}::{name.rpartition('::')[2]}"
    if dispatch_key == "CUDA":
        _impl(self, op_name, kernel, "CUDA", **kwargs)
    if f"{self.ns}/{name.rpartition('::')[2]}/CPU" not in torch.library._impls:
        _kernels[name] = {}
        _impl(self, op_name, _chooser(name, _kernels[name]), "CPU", **kwargs)
    _kernels[name][dispatch_key] = kernel


def patches():
    yield torch.library.Library, "impl", impl
