"""A check finds what the simulated GPU finds: unordered work, races in a launch, accesses outside memory."""

from __future__ import annotations

import dataclasses
import gc

import pytest
import torch
from numba import cuda

from grader import exercises
from grader.check import Reason, Values, check
from grader.simgpu import lost

COPY_PAIRS = """
extern "C" __global__ void copy_pairs(const float2* x, float2* out) { out[threadIdx.x] = x[threadIdx.x]; }
"""


@cuda.jit
def add_unguarded(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] + y[i]


@cuda.jit
def add_guarded(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def add_all_into_each(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i // 2] = x[i] + y[i]
        out[i] = x[i] + y[i]


def launched(kernel):
    """The answer that launches `kernel` over the flattened inputs."""

    def add(x, y):
        x, y = (t.contiguous().view(-1) for t in torch.broadcast_tensors(x, y))
        out = torch.empty_like(x)
        if out.numel():
            kernel[-(-out.numel() // 32), 32](x, y, out)
        return out

    return add


def unordered(x, y):
    with torch.cuda.stream(torch.cuda.Stream()):
        return x + y


def ordered(x, y):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out = x + y
    torch.cuda.current_stream().wait_stream(side)
    out.record_stream(torch.cuda.current_stream())
    return out


def misaligned(x, y):
    kernel = torch.cuda._compile_kernel(COPY_PAIRS, "copy_pairs")
    kernel(
        grid=(1, 1, 1),
        block=(1, 1, 1),
        args=[torch.zeros(8, device="cuda")[1:], torch.zeros(8, device="cuda")],
    )
    return x + y


@pytest.fixture
def one_shape():
    """jit-add, judged on contiguous inputs of one shape and dtype only, PyTorch's own operations allowed."""

    exercise = exercises.get("jit-add")
    family = next(f for f in exercise.families if f.name == "sizes")

    def make(draw):
        for case in family.make(draw):
            if case.dtype is torch.float32 and case.args[0].dim() == 1:
                yield case

    return dataclasses.replace(
        exercise,
        families=(dataclasses.replace(family, make=make),),
        kind="function",
        torch_ops_allowed=True,
        limits=exercises.Limits(),
    )


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (unordered, Reason.RACE, "wait_stream"),
        (launched(add_unguarded), Reason.OUT_OF_BOUNDS, "out[i] = x[i] + y[i]"),
        (launched(add_all_into_each), Reason.RACE, "out[i // 2] = x[i] + y[i]"),
        (misaligned, Reason.MISALIGNED, "no multiple of 8"),
    ],
    ids=["unordered", "out of bounds", "race in a launch", "misaligned"],
)
def test_unsafe_answers(one_shape, answer, reason, words):
    verdict = check(one_shape, answer)
    assert (verdict.values, verdict.reason) == (Values.UNSAFE, reason), verdict
    assert words in "\n".join((verdict.headline, *verdict.lines, verdict.explanation))
    lost.check()  # what a check finds does not cost the learner the device


@pytest.mark.parametrize("answer", [ordered, launched(add_guarded)], ids=["ordered", "guarded"])
def test_their_corrected_twins_pass(one_shape, answer):
    gc.collect()
    assert check(one_shape, answer).passed


def test_a_device_that_was_lost_before_is_said_so(one_shape):
    lost.poison("an illegal memory access was encountered", "line 3 read far away")
    try:
        verdict = check(one_shape, ordered)
    finally:
        lost.heal()
    assert (verdict.values, verdict.reason) == (Values.ERROR, Reason.RAISED)
    assert "line 3 read far away" in verdict.lines
    assert "restart" in verdict.explanation
