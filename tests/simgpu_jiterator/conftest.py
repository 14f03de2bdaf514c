"""Kernels of these tests are cached in a folder of their own."""

import os

import pytest

from grader import simgpu


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory):
    before = os.environ.get("PYTORCH_KERNEL_CACHE_PATH")
    os.environ["PYTORCH_KERNEL_CACHE_PATH"] = str(tmp_path_factory.mktemp("kernels"))
    yield
    if before is None:
        del os.environ["PYTORCH_KERNEL_CACHE_PATH"]
    else:
        os.environ["PYTORCH_KERNEL_CACHE_PATH"] = before


@pytest.fixture(autouse=True, scope="session")
def _gpu(_cache_folder):
    simgpu.activate()
