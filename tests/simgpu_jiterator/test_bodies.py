"""Kernels that a GPU's compiler takes or refuses, with the values that an H200 gave: bodies_h200.json.

Inputs are [1.5, 2.5, -0.75] in float32, [1, 2, 3] in int64 and [1+2j, 0.5] in complex64.
"""

import json
import math
import re
from pathlib import Path

import pytest
import torch

RECORDED = json.loads((Path(__file__).parent / "bodies_h200.json").read_text())
INPUTS = {"float32": [1.5, 2.5, -0.75], "int64": [1, 2, 3], "complex64": [1 + 2j, 0.5]}
# A call that is ambiguous for complex numbers on a GPU finds its function here.
TAKEN_ALL_THE_SAME = {
    "template <typename T> T f(T x) { return isinf(x); }",
    "template <typename T> T f(T x) { return std::isfinite(x); }",
}


def numbers(shown: str) -> list[float]:
    return [float(word) for word in re.findall(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)", shown)]


@pytest.mark.parametrize("code", RECORDED, ids=lambda code: code.removeprefix("template <typename T> T "))
def test_is_taken_or_refused_as_on_a_gpu(code):
    kernel = torch.cuda.jiterator._create_jit_fn(code)
    for dtype, recorded in RECORDED[code].items():
        x = torch.tensor(INPUTS[dtype], dtype=getattr(torch, dtype), device="cuda")
        if recorded == "refused":
            if not (dtype == "complex64" and code in TAKEN_ALL_THE_SAME):
                with pytest.raises(RuntimeError):
                    kernel(x)
            continue
        got, expected = numbers(str(kernel(x).tolist())), numbers(recorded)
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            close = math.isclose(g, e, rel_tol=1e-5, abs_tol=1e-6)  # fast intrinsics are no better
            assert close or (g != g and e != e), (dtype, got, expected)
