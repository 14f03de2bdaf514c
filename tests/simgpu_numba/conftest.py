import warnings

import pytest

from grader import simgpu
from grader.simgpu import lost, order


@pytest.fixture(autouse=True, scope="session")
def _gpu():
    simgpu.activate("sim")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(Grid size|Host array).*")
        yield


@pytest.fixture(autouse=True)
def findings(_gpu):
    """What the test's kernels are found to do wrong. A test that asks for it looks; for others there is
    none.
    """
    with order.collect() as found:
        yield found
    order.clear_findings()
    lost.heal()
