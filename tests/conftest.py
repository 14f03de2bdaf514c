"""Tests run on the simulated GPU unless GRADER_GPU=real says otherwise, and leave the progress file alone.

Tests marked `device` state what holds on any GPU: `make test-gpu` runs them on a real one.
"""

import os

import pytest

os.environ.setdefault("GRADER_GPU", "sim")
os.environ.setdefault("OMP_NUM_THREADS", "2")

# Tests that hold on the real and on the simulated GPU alike.
ON_ANY_DEVICE = (
    "tests/parity/test_parity.py",
    "tests/simgpu_jiterator/test_facts.py",
    "tests/simgpu_jiterator/test_bodies.py",
    "tests/check/",
    "tests/exercises/",
    "tests/mutants/",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(part in item.path.as_posix() for part in ON_ANY_DEVICE):
            item.add_marker(pytest.mark.device)


@pytest.fixture(autouse=True, scope="session")
def _progress_elsewhere(tmp_path_factory):
    kept = os.environ.get("GRADER_PROGRESS")
    os.environ["GRADER_PROGRESS"] = str(tmp_path_factory.mktemp("progress") / "progress.json")
    yield
    if kept is None:
        del os.environ["GRADER_PROGRESS"]
    else:
        os.environ["GRADER_PROGRESS"] = kept
