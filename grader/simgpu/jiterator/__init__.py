"""torch.cuda.jiterator on the simulated GPU: kernels are compiled by the host's C++ compiler.

PyTorch's own `torch/cuda/jiterator.py` runs unchanged; the one function of its C++ part that compiles and
launches is provided here (`launch.compile_and_launch`).

    launch.py    one call: arguments, results, the launch
    plan.py      what such a call comes to, worked out once for each specialisation
    operands.py  dtypes, shapes and strides, as PyTorch's TensorIterator has them
    codegen.py   the program around a kernel
    build.py     compiled once for a process, and once for a machine
    errors.py    compile errors in lines of the learner's text
    cpp/         the loop over the elements
"""

from __future__ import annotations

from typing import Any

import torch
import torch.cuda.jiterator as _jiterator

from grader.simgpu import lost, trace
from grader.simgpu.jiterator import launch
from grader.simgpu.jiterator.errors import Line
from grader.simgpu.jiterator.prefetch import precompile
from grader.simgpu.native import libraries
from grader.simgpu.native.compiler import NoCompiler
from grader.simgpu.tensors import SimTensor

__all__ = ["Line", "NoCompiler", "install", "precompile", "stop", "uninstall"]

_NAME = "_cuda_jiterator_compile_and_launch_kernel"
_before: dict[str, Any] = {}  # what install() replaced


def install() -> None:
    """Let jiterator kernels run on the simulated GPU. Those given a real GPU's tensors still go there."""
    if _before:
        return
    real = getattr(torch._C, _NAME, None)
    init = _jiterator._JittedFunction.__init__

    def dispatch(code, name, by_reference, num_outputs, tensors, kwargs):
        there = real is not None and any(map(_on_a_real_gpu, tensors))
        run = real if there else launch.compile_and_launch
        return run(code, name, by_reference, num_outputs, tensors, kwargs)

    def noted_init(self, code_string, *args, **kwargs):
        init(self, code_string, *args, **kwargs)
        trace.emit(trace.Create(self.kernel_name, code_string))

    noted_init.__wrapped__ = init
    _before.update(real=real, init=init)
    setattr(torch._C, _NAME, dispatch)
    _jiterator._JittedFunction.__init__ = noted_init


def _on_a_real_gpu(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and not isinstance(t, SimTensor) and t.device.type == "cuda"


def uninstall() -> None:
    """Undo install()."""
    lost.heal()
    if not _before:
        return
    if _before["real"] is None:
        delattr(torch._C, _NAME)
    else:
        setattr(torch._C, _NAME, _before["real"])
    _jiterator._JittedFunction.__init__ = _before["init"]
    _before.clear()


def stop() -> int:
    """End every kernel that runs now, also those that other threads launched; returns how many.

    An interrupt (Ctrl-C, the stop button) ends a kernel that the main thread launched. One that another
    thread launched goes on: end it with this.
    """
    return libraries.stop_all()
