"""The libraries that launches need can be built ahead."""

from __future__ import annotations

import os
import subprocess
import sys

from grader.simgpu.native import cache, libraries


def build(folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", "grader.simgpu.native"],
        env={**os.environ, "PYTORCH_KERNEL_CACHE_PATH": str(folder), **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip


def test_everything_is_there_then(tmp_path, monkeypatch):
    assert build(tmp_path).stdout == ""
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(tmp_path))

    def refuse(path):
        raise AssertionError("built again")

    for source in libraries._ALL:
        cache.store(libraries._recipe(source)[0], refuse)


def test_without_a_compiler_it_says_so_in_one_line(tmp_path):
    said = build(tmp_path, CXX="no-such-compiler")
    assert said.stdout.count("\n") == 1 and "no-such-compiler" in said.stdout
    assert said.stderr == ""


_FORK = """
import os, signal, threading
from grader.simgpu.native import cache, libraries

begun, never = threading.Event(), threading.Event()
def build_for_long(*args, **kwargs):
    begun.set()
    never.wait()
cache.load = build_for_long
threading.Thread(target=libraries.guard, daemon=True).start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    cache.load = lambda *args, **kwargs: ("loaded", True)
    os._exit(libraries.guard() != "loaded")
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
"""


def test_a_child_does_not_wait_for_a_build_of_its_parent():
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], check=True)
