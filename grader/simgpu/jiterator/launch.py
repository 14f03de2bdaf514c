"""One call of a jiterator kernel on the simulated GPU: the order of checks, the results, the launch.

`compile_and_launch` stands in for `torch._C._cuda_jiterator_compile_and_launch_kernel`, which builds of
PyTorch without CUDA lack; PyTorch's own Python code calls it.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader import tracebacks
from grader.simgpu import lost, trace, work
from grader.simgpu import tensors as device
from grader.simgpu.jiterator import build, events, operands, plan, tracked
from grader.simgpu.jiterator.codegen import CPP_TYPES, check_name
from grader.simgpu.native import endings

_Tensor = torch.Tensor
_SimTensor = device.SimTensor
_empty_strided = torch.empty_strided
_get_ident = threading.get_ident
_CPU = torch.device("cpu")
_NoDispatch = torch._C.DisableTorchFunction
_INT64 = range(-(2**63), 2**63)

Scalar = bool | int | float | complex

_plans: dict[tuple, plan.Plan | operands.Results] = {}
_MOST_PLANS = 4096


def compile_and_launch(
    code: str, name: str, by_reference: bool, num_outputs: int, inputs: tuple, kwargs: dict[str, Any]
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Run the kernel `name` of `code` over `inputs`; the results are new tensors on the simulated GPU.

    Raises as PyTorch does: RuntimeError for devices, shapes, dtypes and code that does not compile, TypeError
    for keyword arguments that are no numbers. KeyboardInterrupt if it is interrupted.
    """
    try:
        for i, t in enumerate(inputs):
            if not isinstance(t, _Tensor):
                raise RuntimeError(f"{i} of input tensors tuple is not a Tensor")
        scalars = [_scalar(v) for v in kwargs.values()]
        lost.check()
        with _NoDispatch():
            outputs = _launch(code, name, by_reference, num_outputs, inputs, scalars)
    except BaseException as error:
        tracebacks.of_their_lines(error)
        raise
    return outputs[0] if num_outputs == 1 else tuple(outputs)


def _scalar(value: Any) -> Scalar:
    if isinstance(value, _Tensor):
        return value.item() if value.numel() == 1 else _not_one(value)
    if isinstance(value, bool | float | complex):  # NumPy's double and complex double are subclasses
        return (
            value if isinstance(value, bool) else float(value) if isinstance(value, float) else complex(value)
        )
    if isinstance(value, int) or (
        hasattr(value, "__index__") and hasattr(value, "dtype") and value.dtype.kind != "b"
    ):
        number = int(value)
        if number not in _INT64:
            raise ValueError("Overflow when unpacking long long")
        return number
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _not_one(value: torch.Tensor) -> Scalar:
    raise RuntimeError(f"a Tensor with {value.numel()} elements cannot be converted to Scalar")


def _launch(
    code: str,
    name: str,
    by_reference: bool,
    num_outputs: int,
    inputs: Sequence[torch.Tensor],
    scalars: list[Scalar],
) -> list[torch.Tensor]:
    if not inputs:
        raise RuntimeError(
            "a jiterator kernel needs at least one tensor: "
            "there is nothing to give the result a shape, a dtype and a device"
        )
    key = (
        code, name, by_reference, num_outputs,
        *[(type(t) is _SimTensor, t.dtype, t.shape, t.stride()) for t in inputs],
        *[type(s) for s in scalars],
    )  # fmt: skip
    found = _plans.get(key)
    if found is None:
        _check_devices(inputs, lambda: operands.broadcast([t.shape for t in inputs]))
        extras = tuple(CPP_TYPES[type(s)] for s in scalars)
        found = plan.make(code, name, by_reference, num_outputs, inputs, extras)
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[key] = found
    outputs = [
        _empty_strided(found.shape, found.strides, dtype=found.dtype, device=_CPU) for _ in range(num_outputs)
    ]
    if type(found) is plan.Plan:
        if work.tracking():
            tracked.run(found, inputs, outputs, lambda i, o, recorded: _run(found, i, scalars, o, recorded))
        else:
            _run(found, inputs, scalars, outputs, trace.active())
    return [device.mark(t) for t in outputs]


def _check_devices(inputs: Sequence[torch.Tensor], shapes_go_together: Callable[[], Any]) -> None:
    here = [isinstance(t, _SimTensor) for t in inputs]
    if all(here):
        return
    shapes_go_together()  # PyTorch looks at the shapes first
    other = next(t for t, on_gpu in zip(inputs, here, strict=True) if not on_gpu).device
    if any(here):
        raise RuntimeError(
            "Expected all tensors to be on the same device, "
            f"but found at least two devices, {device.DEVICE} and {other}!"
        )
    raise RuntimeError(f"CUDAGuardImpl initialized with non-CUDA DeviceType: {other.type}")


def _run(
    found: plan.Plan,
    inputs: Sequence[torch.Tensor],
    scalars: list[Scalar],
    outputs: Sequence[torch.Tensor],
    recorded: bool,
) -> None:
    operand_tensors = inputs
    if True in found.convert:
        strides = operands.results(inputs).inputs
        operand_tensors = [
            _converted(t, s, found) if convert else t
            for t, s, convert in zip(inputs, strides, found.convert, strict=True)
        ]
    addresses = [t.data_ptr() for t in operand_tensors] + [t.data_ptr() for t in outputs]
    width = found.width(addresses)
    if recorded or width not in found.noted:
        check_name(found.program, vectorized=width > 1)
        events.compiled(found, width)
    words = found.packed(addresses, width, _get_ident() == threading.main_thread().ident)
    if scalars:
        words += b"".join(map(_packed, scalars))
    outcome = build.runtime().launch(words)
    if recorded:
        events.launched(found.program.name, inputs, outputs)
    if outcome:
        endings.explain(outcome, found.program.name)


def _packed(value: Scalar) -> bytes:
    """A keyword argument as 16 bytes."""
    if isinstance(value, bool):
        return struct.pack("=?15x", value)
    if isinstance(value, int):
        return struct.pack("=q8x", value)
    if isinstance(value, float):
        return struct.pack("=d8x", value)
    return struct.pack("=dd", value.real, value.imag)


def _converted(t: torch.Tensor, strides: operands.Shape, found: plan.Plan) -> torch.Tensor:
    """`t` as the common dtype, repeated dimensions once. Conj and neg bits are ignored, as kernels do."""
    t = device.plain(t)
    if t.is_conj():
        t = torch._conj(t)
    if t.is_neg():
        t = torch._neg_view(t)
    return t.as_strided(operands.once(found.shape, strides), [step or 1 for step in strides]).to(found.dtype)
