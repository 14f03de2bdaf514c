"""numba's built-in CUDA target, also where the package numba-cuda stands in for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def outcomes():
    done = subprocess.run(
        [sys.executable, "-m", "tests.simgpu_numba.builtin_target"],
        cwd=ROOT, env=os.environ | {"GRADER_GPU": "sim"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_it_is_the_built_in_target(outcomes):
    assert Path(outcomes["package"]).parts[-3:] == ("numba", "cuda", "__init__.py")
    assert "numba_cuda" not in outcomes["package"]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("elementwise", [1 + 2.0 * i for i in range(10)]),
        ("sums_of_blocks", [28.0, 92.0, 70.0]),
        ("atomics", [11, 11, 10]),
        ("two_dimensions", True),
        ("arrays_of_numba", [2.0, 4.0, 6.0]),
        ("a_race", ["race"]),
    ],
)
def test_outcome(outcomes, program, expected):
    assert outcomes[program] == expected


def test_out_of_bounds(outcomes):
    for said in ("out_of_bounds", "`y[i] = x[i + 1]`", "thread (3,0,0)", "index 4 of x", "x has 4 elements"):
        assert said in outcomes["out_of_bounds"]
