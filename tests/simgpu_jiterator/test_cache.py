"""Compiled kernels: once a process, once a machine, and never a broken one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from grader import simgpu
from grader.simgpu.jiterator import build
from grader.simgpu.native import cache, compiler

create = torch.cuda.jiterator._create_jit_fn

PROGRAM = """
import sys, torch
from grader import simgpu
simgpu.activate()
f = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return erfinv(x) / T(4); }")
x = torch.tensor([0.5], device="cuda")
with simgpu.recording() as trace:
    value = f(x).item()
print(round(value, 6), [c.cached for c in trace.compiles])
"""


def start(folder, program=PROGRAM, **environment):
    env = {**os.environ, "PYTORCH_KERNEL_CACHE_PATH": str(folder), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def result(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """This process has compiled no kernel yet, and caches in tmp_path."""
    kernel(0)(torch.ones(1, device="cuda"))  # the runtime library is cached elsewhere
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(tmp_path))
    monkeypatch.setattr(build, "_compiled", {})
    monkeypatch.setattr("grader.simgpu.jiterator.launch._plans", {})
    return tmp_path


def kernel(number=1):
    return create(f"template <typename T> T f(T x) {{ return x + T({number}); }}")


def ours(folder: Path) -> list[Path]:
    return sorted((folder / "simulated_gpu").glob("*.so"))


def test_the_second_process_finds_the_kernel_on_disk(tmp_path):
    assert result(start(tmp_path)) == "0.119234 [False]"
    assert result(start(tmp_path)) == "0.119234 [True]"


def test_processes_that_compile_at_the_same_time(tmp_path):
    outputs = {result(p) for p in [start(tmp_path) for _ in range(4)]}
    assert {o.split(" ")[0] for o in outputs} == {"0.119234"}
    assert not list(tmp_path.rglob("*.tmp"))


def test_threads_that_compile_at_the_same_time_compile_once(fresh, monkeypatch):
    calls, run = [], compiler.run

    def counted(*args, **kwargs):
        calls.append(args)
        return run(*args, **kwargs)

    f, x, got = kernel(), torch.ones(2, device="cuda"), []
    f(x.int())  # the runtime is there
    monkeypatch.setattr(compiler, "run", counted)
    threads = [threading.Thread(target=lambda: got.append(f(x).tolist())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [[2.0, 2.0]] * 8
    assert len(calls) == 1


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "text"])
def test_a_damaged_file_is_built_again(fresh, monkeypatch, damage):
    x = torch.ones(2, device="cuda")
    kernel()(x)
    (path,) = ours(fresh)
    content = path.read_bytes()
    broken = {
        "truncated": content[: len(content) // 2],
        "changed": content[:2000] + b"xxxx" + content[2004:],
        "empty": b"",
        "text": b"not a library",
    }[damage]
    other = path.with_suffix(".new")
    other.write_bytes(broken)
    other.replace(path)
    monkeypatch.setattr(build, "_compiled", {})
    monkeypatch.setattr("grader.simgpu.jiterator.launch._plans", {})
    assert kernel()(x).tolist() == [2.0, 2.0]
    assert cache.is_whole(path)


def test_a_folder_that_cannot_be_made_is_replaced_by_a_temporary_one(fresh, monkeypatch):
    blocked = fresh / "a file"
    blocked.write_text("")
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(blocked))
    assert kernel()(torch.ones(2, device="cuda")).tolist() == [2.0, 2.0]
    assert fresh not in cache.folder().parents


def test_a_folder_that_cannot_be_written_is_replaced_by_a_temporary_one(fresh, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *args: False)
    cache._folder.cache_clear()
    try:
        assert fresh not in cache.folder().parents
    finally:
        cache._folder.cache_clear()


@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        ({"PYTORCH_KERNEL_CACHE_PATH": "{tmp}/a", "XDG_CACHE_HOME": "{tmp}/x"}, "a/simulated_gpu"),
        ({"XDG_CACHE_HOME": "{tmp}/x"}, "x/torch/kernels/simulated_gpu"),
        ({}, "home/.cache/torch/kernels/simulated_gpu"),
    ],
)
def test_where_kernels_are_kept(monkeypatch, tmp_path, settings, folder):
    for name in ("PYTORCH_KERNEL_CACHE_PATH", "XDG_CACHE_HOME", "USE_PYTORCH_KERNEL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in settings.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    assert cache.folder() == tmp_path / folder


def test_the_cache_can_be_turned_off(tmp_path):
    for _ in range(2):
        assert result(start(tmp_path, USE_PYTORCH_KERNEL_CACHE="0")) == "0.119234 [False]"
    assert not list(tmp_path.iterdir())


def test_another_processor_or_compiler_has_other_kernels(monkeypatch):
    here = compiler.fingerprint()
    compiler._fingerprint.cache_clear()
    monkeypatch.setattr(compiler, "_processor", lambda: "flags: sse2")
    assert compiler.fingerprint() != here
    compiler._fingerprint.cache_clear()


def test_what_is_recorded(fresh):
    f, x = kernel(23), torch.ones(4, 4, device="cuda")
    with simgpu.recording() as trace:
        f(x)
        f(x + 1)
        f(x.half())
        f(x[:, ::2])
    assert [c.dtypes for c in trace.compiles] == [("float32",), ("float16",), ("float32",)]
    assert [e.kind for e in trace.launches] == [
        "jiterator",
        "torch",
        "jiterator",
        "torch",
        "jiterator",
        "jiterator",
    ]
    with simgpu.recording() as trace:
        f(x)
    assert trace.compiles == []


def test_a_fresh_recording_counts_from_the_start():
    f, x = kernel(29), torch.ones(4, device="cuda")
    f(x)
    with simgpu.recording(fresh=True) as trace:
        f(x)
        f(x)
        create("template <typename T> T other(T x) { return x; }")
    assert [(c.name, c.cached) for c in trace.compiles] == [("f", True)]
    assert [c.name for c in trace.creates] == ["other"]


def test_bytes_count_each_element_once():
    add = create("template <typename T> T add(T a, T b) { return a + b; }")
    x, row = torch.ones(8, 4, device="cuda"), torch.ones(4, device="cuda")
    with simgpu.recording() as trace:
        add(x, row)
        add(x, x)
        add(row.expand(8, 4), row)
    assert [(e.bytes_read, e.bytes_written) for e in trace.launches] == [
        (128 + 16, 128),
        (128, 128),
        (16 + 16, 128),
    ]


def test_precompiled_kernels_need_no_compiler(fresh, monkeypatch):
    from grader.simgpu.jiterator import precompile

    f = create("template <typename T> T f(T x, T k) { return x * k; }", k=2.0)
    precompile(f, [torch.float32, torch.int64], inputs=1)
    monkeypatch.setattr(compiler, "run", None)
    assert f(torch.ones(2, device="cuda")).tolist() == [2.0, 2.0]
    assert f(torch.ones(2, dtype=torch.int64, device="cuda")).tolist() == [2, 2]
