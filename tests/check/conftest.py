import pytest

from grader import simgpu


@pytest.fixture(autouse=True, scope="session")
def gpu():
    simgpu.activate()
