"""Compiling for the simulated GPU before the first call, several dtypes at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.cuda.jiterator import _JittedFunction

from grader import simgpu
from grader.simgpu.jiterator import NoCompiler, precompile
from grader.simgpu.native import compiler

from ..exercises import Exercise
from ..exercises.draw import Draw


def can_compile() -> bool:
    """Is there a C++ compiler for the simulated GPU?"""
    try:
        return bool(compiler.command())
    except NoCompiler:
        return False


def up(exercise: Exercise, kernels: Sequence[_JittedFunction]) -> None:
    """Compile the kernels for every dtype that the exercise promises; does nothing on a real GPU."""
    if not kernels or not simgpu.is_simulated() or not can_compile():
        return
    first = next(iter(exercise.families[0].make(Draw(0))))
    inputs = sum(isinstance(arg, torch.Tensor) for arg in first.args)
    for kernel in kernels:
        precompile(kernel, exercise.dtypes, inputs)
