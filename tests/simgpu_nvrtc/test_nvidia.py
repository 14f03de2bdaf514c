"""Where NVRTC is installed, compile errors are its own."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch

from grader.simgpu.nvrtc import nvidia

from .conftest import HEAD, ints


@pytest.fixture
def installed():
    if nvidia._library() is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")


def test_it_has_the_last_word(installed):
    text = HEAD + "(float* x) { std::vector<int> v; }"
    with pytest.raises(RuntimeError) as caught:
        torch.cuda._compile_kernel(text, "k")
    assert str(caught.value) == "Kernel compilation failed:\n" + nvidia.refusal(text, "k", ())
    x = ints(n=1)
    torch.cuda._compile_kernel(HEAD + "(int* x) { x[0] = 3; }", "k")(args=[x])
    assert x.item() == 3


def test_without_it_nothing_is_refused_for_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    nvidia._library.cache_clear()
    try:
        assert nvidia.refusal("nonsense", "k", ()) is None
    finally:
        nvidia._library.cache_clear()


def test_a_broken_installation_counts_as_none(monkeypatch, tmp_path):
    (tmp_path / "nvidia/cu13/lib").mkdir(parents=True)
    (tmp_path / "nvidia/cu13/lib/libnvrtc.so.13").write_text("no library")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: importlib.machinery.PathFinder.find_spec(name, [str(tmp_path)]),
    )
    nvidia._library.cache_clear()
    try:
        assert nvidia.refusal("nonsense", "k", ()) is None
    finally:
        nvidia._library.cache_clear()
