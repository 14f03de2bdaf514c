"""The doctor: each finding with its fix, and no harm from anything that is missing, slow or broken."""

import subprocess
import sys
from pathlib import Path

import pytest

from grader import diagnosis
from grader.diagnosis import Finding
from grader.simgpu.native import cache, compiler


@pytest.fixture
def versions(monkeypatch):
    """Installed versions as the doctor sees them; None: not installed."""
    given = {}
    real = diagnosis._version
    monkeypatch.setattr(
        diagnosis, "_version", lambda name: given.get(name, real(name)) if name in given else real(name)
    )
    return given


def test_this_machine_is_examined_whole_and_in_order():
    found = diagnosis.examine()
    names = ["Python", "PyTorch", "GPU", "C++ compiler", "numba", "Jupyter", "kernel cache"]
    assert [finding.name for finding in found] == names
    by_name = {finding.name: finding for finding in found}
    assert by_name["Python"].status == by_name["C++ compiler"].status == by_name["PyTorch"].status == "ok"
    assert all(finding.fix for finding in found if finding.status in ("warn", "bad"))


def test_nothing_on_the_path_is_no_crash(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = {finding.name: finding for finding in diagnosis.examine()}
    assert found["C++ compiler"].status == "bad" and "apt install g++" in found["C++ compiler"].fix
    assert found["GPU"].status in ("note", "ok")


@pytest.mark.parametrize("cxx", ["/nope", sys.executable])
def test_a_cxx_that_is_no_compiler_is_to_be_unset_or_corrected(monkeypatch, cxx):
    monkeypatch.setenv("CXX", cxx)
    found = diagnosis.cpp_compiler()
    assert found.status == "bad" and "unset CXX" in found.fix and "apt install" not in found.fix


def test_the_home_folder_is_shortened(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    said = f"3.12, {tmp_path}/venv/bin/python, {tmp_path}, /mnt{tmp_path}/x {tmp_path}x"
    finding = Finding("Python", "bad", said, f"{tmp_path}/python -m venv")
    monkeypatch.setattr(diagnosis, "_EXAMINATIONS", (("Python", lambda: finding),))
    (found,) = diagnosis.examine()
    assert found.detail == f"3.12, ~/venv/bin/python, ~, /mnt{tmp_path}/x {tmp_path}x"
    assert found.fix == "~/python -m venv"


@pytest.mark.parametrize("error", [OSError("gone"), subprocess.TimeoutExpired("x", 60)])
def test_tools_that_cannot_be_started_or_hang_are_findings(monkeypatch, error):
    def run(*arguments, **keywords):
        raise error

    monkeypatch.setattr(diagnosis.subprocess, "run", run)
    found = {finding.name: finding for finding in diagnosis.examine()}
    assert found["PyTorch"].status == found["C++ compiler"].status == found["numba"].status == "bad"


def test_an_examination_that_fails_is_a_finding(monkeypatch):
    monkeypatch.setattr(diagnosis, "_EXAMINATIONS", (("Jupyter", lambda: 1 / 0),))
    assert diagnosis.examine() == [
        Finding("Jupyter", "warn", "could not be looked at: ZeroDivisionError: division by zero")
    ]


@pytest.mark.parametrize(
    ("numba_cuda", "numpy", "status", "fix"),
    [
        ("0.30.4", "2.5.0", "bad", 'pip install "numpy<2.5"'),
        ("0.30.4", "2.4.1", "ok", ""),
        ("0.29.0", "2.4.1", "warn", 'pip install "numba-cuda>=0.30,<0.31"'),
        (None, "2.4.1", "ok", ""),
    ],
)
def test_numba_cuda_and_numpy_must_fit(versions, numba_cuda, numpy, status, fix):
    versions |= {"numba-cuda": numba_cuda, "numpy": numpy}
    found = diagnosis._numba()
    assert (found.status, found.fix) == (status, fix)


@pytest.mark.parametrize(("version", "status"), [("2.10.0", "warn"), ("2.15.0", "warn"), (None, "bad")])
def test_torch_outside_the_range_is_told(versions, version, status):
    versions["torch"] = version
    assert diagnosis._torch().status == status


def answers(monkeypatch, torch_says, smi_says):
    """Let PyTorch (what it prints) and nvidia-smi (None: not there) answer as given."""
    torch = subprocess.CompletedProcess([], 0, torch_says, "warning: CUDA initialization: driver too old")
    smi = subprocess.CompletedProcess([], 0, smi_says or "", "")
    monkeypatch.setattr(diagnosis, "_ask_python", lambda code: torch)
    monkeypatch.setattr(diagnosis, "_ask", lambda command, text="": smi)
    monkeypatch.setattr(diagnosis.shutil, "which", lambda name: name if smi_says else None)


@pytest.mark.parametrize(
    ("torch_says", "smi_says", "status", "detail", "fix"),
    [
        ("13.0\nNVIDIA H200\n", "NVIDIA H200, 580.1", "ok", "NVIDIA H200 with driver 580.1", ""),
        ("None\nFalse\n", None, "note", "no NVIDIA GPU", ""),
        ("None\nFalse\n", "NVIDIA T4, 535.2", "warn", "built without CUDA", "a build of PyTorch with CUDA"),
        (
            "13.0\nFalse\n",
            "NVIDIA T4, 535.2",
            "warn",
            "driver too old",
            "update the driver to one for CUDA 13.0",
        ),
    ],
)
def test_gpu_and_driver(monkeypatch, torch_says, smi_says, status, detail, fix):
    answers(monkeypatch, torch_says, smi_says)
    found = diagnosis._gpu()
    assert found.status == status and detail in found.detail and fix in found.fix


def test_a_kernel_that_starts_another_python_is_told(monkeypatch):
    monkeypatch.setattr(diagnosis, "_kernel_program", lambda: "/opt/other/bin/python")
    found = diagnosis._jupyter()
    assert found.status == "bad" and "/opt/other/bin/python" in found.detail
    assert found.fix == f"{sys.executable} -m ipykernel install --sys-prefix"
    monkeypatch.setattr(diagnosis, "_kernel_program", lambda: sys.executable)
    assert diagnosis._jupyter().status == "ok"


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """A kernel cache of this test's own, with one good kernel in it."""
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(tmp_path / "kernels"))
    cache.load("one", lambda path: _compile("int one() { return 1; }", path))
    return cache.folder()


def _compile(text, path):
    command = [*compiler.command(), "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path)]
    subprocess.run(command, input=text, text=True, check=True)


def test_a_damaged_cache_is_found_and_cleared(kernels):
    assert diagnosis._cache().status == "ok"
    kernel = kernels / "one.so"
    damaged = kernel.read_bytes()[:-100]
    kernel.unlink()  # this process may have the library loaded: its file must not change under it
    kernel.write_bytes(damaged)
    found = diagnosis._cache()
    assert found.status == "warn" and "1 damaged, such as one.so" in found.detail
    assert found.fix == "grader doctor --clear-cache"
    assert "cleared" in diagnosis.clear_cache() and not list(kernels.iterdir())
    assert diagnosis._cache().status == "ok"


def test_folders_in_the_cache_are_cleared_too(kernels):
    (kernels / "0_sub" / "deep").mkdir(parents=True)
    (kernels / "0_sub" / "deep" / "file").touch()
    (kernels / "1_link").symlink_to(kernels.parent)
    assert "cleared the kernel cache" in diagnosis.clear_cache()
    assert not list(kernels.iterdir()) and kernels.parent.is_dir()


def test_one_file_that_stays_does_not_keep_the_others(kernels, monkeypatch):
    (kernels / "a_first").touch()
    unlink = Path.unlink

    def refuse(path, **keywords):
        if path.name == "a_first":
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, **keywords)

    monkeypatch.setattr(Path, "unlink", refuse)
    assert "could not be cleared whole" in diagnosis.clear_cache()
    assert [path.name for path in kernels.iterdir()] == ["a_first"]


def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(tmp_path / "file" / "cache"))
    found = diagnosis._cache()
    assert found.status == "warn" and "PYTORCH_KERNEL_CACHE_PATH" in found.fix
    monkeypatch.setenv("USE_PYTORCH_KERNEL_CACHE", "0")
    assert diagnosis._cache().status == "note"
