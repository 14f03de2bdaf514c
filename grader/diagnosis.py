"""What `grader.doctor` looks at: everything that the course needs on this machine, each with its fix.

Nothing here may hang or fail because something is missing: whatever could do so is asked of another process
with a time limit, and an examination that fails is itself a finding.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal

from grader import simgpu
from grader.simgpu.native import cache, compiler

OLDEST_PYTHON = (3, 11)
TORCH_RANGE = ((2, 11), (2, 15))  # from, below
PATIENCE = 60  # seconds for any other process


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    status: "ok"; "note" (fine, but good to know); "warn" (a part of the course will not work); "bad" (the
    course will not work). detail: what is there. fix: what to do about it, '' where nothing is to be done.
    """

    name: str
    status: Literal["ok", "note", "warn", "bad"]
    detail: str
    fix: str = ""


def examine() -> list[Finding]:
    """Look at everything; takes a few seconds. Always returns one Finding for each, in a fixed order."""
    with ThreadPoolExecutor(max_workers=len(_EXAMINATIONS)) as pool:
        return list(pool.map(_safely, _EXAMINATIONS))


def _safely(examination: tuple[str, Callable[[], Finding]]) -> Finding:
    name, look = examination
    try:
        found = look()
    except Exception as error:
        found = Finding(name, "warn", f"could not be looked at: {type(error).__name__}: {error}")
    return replace(found, detail=_short(found.detail), fix=_short(found.fix))


def _short(text: str) -> str:
    """Paths in the home folder as ~/..., which a shell takes too."""
    home = str(Path.home()).rstrip(os.sep)
    return re.sub(rf"(?<![\w/.-]){re.escape(home)}(?=/|$|[\s,;])", "~", text) if home else text


def _python() -> Finding:
    detail = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return Finding("Python", "bad", detail, "install Python 3.11 or newer and set the course up again")
    return Finding("Python", "ok", detail)


def _torch() -> Finding:
    install = "install the pinned version: pip install -c constraints.txt torch"
    version = _version("torch")
    if version is None:
        return Finding("PyTorch", "bad", "not installed", install)
    lowest, above = TORCH_RANGE
    if not lowest <= _numbers(version)[:2] < above:
        supported = f"{lowest[0]}.{lowest[1]} to {above[0]}.{above[1] - 1}"
        return Finding("PyTorch", "warn", f"{version}; the course was made for {supported}", install)
    answer = _ask_python("import torch, torch.cuda.jiterator; print(torch.version.cuda)")
    if answer.returncode:
        return Finding(
            "PyTorch", "bad", f"{version} cannot be imported: {_last_line(answer.stderr)}", install
        )
    cuda = answer.stdout.strip()
    return Finding(
        "PyTorch", "ok", f"{version}, built " + ("without CUDA" if cuda == "None" else f"for CUDA {cuda}")
    )


def _gpu() -> Finding:
    driver = _driver()
    answer = _ask_python(
        "import torch; print(torch.version.cuda);"
        "print(torch.cuda.is_available() and torch.cuda.get_device_name(0))"
    )
    cuda, _, name = answer.stdout.strip().partition("\n")
    simulated = "The simulated GPU is used; speed is not measured on it."
    if answer.returncode == 0 and name not in ("", "False"):
        note = " (not in use: GRADER_GPU=sim)" if simgpu.is_simulated() else ""
        return Finding("GPU", "ok", f"{name}, {driver or 'driver unknown'}{note}")
    if driver is None:
        return Finding(
            "GPU", "note", f"no NVIDIA GPU or no driver found (nvidia-smi does not answer). {simulated}"
        )
    if cuda == "None":
        fix = "install a build of PyTorch with CUDA (see pytorch.org/get-started) to use it"
        return Finding("GPU", "warn", f"{driver}, but this PyTorch is built without CUDA. {simulated}", fix)
    fix = f"update the driver to one for CUDA {cuda}, or install a PyTorch built for an older CUDA"
    return Finding(
        "GPU", "warn", f"{driver}, but PyTorch cannot use it: {_last_line(answer.stderr)} {simulated}", fix
    )


def _driver() -> str | None:
    """GPU and driver in words, or None where nvidia-smi is missing or does not answer."""
    if (tool := shutil.which("nvidia-smi")) is None:
        return None
    answer = _ask([tool, "--query-gpu=name,driver_version", "--format=csv,noheader"])
    if answer.returncode or not answer.stdout.strip():
        return None
    name, _, version = answer.stdout.strip().splitlines()[0].partition(", ")
    return f"{name} with driver {version}"


def cpp_compiler() -> Finding:
    """Is there a C++ compiler for the simulated GPU, and does it compile? "ok" or "bad"."""
    fix = "install one: `sudo apt install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora), "
    fix += "`xcode-select --install` (macOS), `conda install -c conda-forge cxx-compiler` (conda)"
    try:
        command = compiler.command()
    except compiler.NoCompiler:
        if named := os.environ.get("CXX"):
            detail = f"the environment variable CXX names {named!r}, which is not there"
            return Finding("C++ compiler", "bad", detail, _CXX)
        return Finding("C++ compiler", "bad", "none found; the simulated GPU needs one", fix)
    program = "#include <cmath>\nint one() { return 1; }\n"
    answer = _ask([*command, "-x", "c++", "-std=c++17", "-fsyntax-only", "-"], program)
    if answer.returncode:
        detail = f"{command[0]} cannot compile one line: {_last_line(answer.stderr)}"
        return Finding("C++ compiler", "bad", detail, _CXX if os.environ.get("CXX") else fix)
    version = _ask([*command, "--version"]).stdout.splitlines()
    return Finding("C++ compiler", "ok", version[0] if version else command[0])


_CXX = "`unset CXX`, so that g++, c++ or clang++ is used, or let it name a C++ compiler"


def _numba() -> Finding:
    versions = {name: _version(name) for name in ("numba", "numba-cuda", "numpy")}
    detail = ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())
    numba_cuda = versions["numba-cuda"]
    if not versions["numba"] or not versions["numpy"]:
        return Finding("numba", "bad", detail, "pip install -c constraints.txt numba numpy")
    if numba_cuda and _numbers(numba_cuda)[:2] <= (0, 30) and _numbers(versions["numpy"])[:2] >= (2, 5):
        return Finding(
            "numba",
            "bad",
            f"{detail}: this numba-cuda does not work with numpy 2.5",
            'pip install "numpy<2.5"',
        )
    answer = _ask_python("import numba")
    if answer.returncode:
        fix = "pip install -c constraints.txt numba numpy"
        return Finding(
            "numba", "bad", f"{detail}: numba cannot be imported: {_last_line(answer.stderr)}", fix
        )
    if numba_cuda and not (0, 30) <= _numbers(numba_cuda)[:2] < (0, 31):
        return Finding("numba", "warn", f"{detail}: the course was made for numba-cuda 0.30", _NUMBA_CUDA)
    if not numba_cuda and not simgpu.is_simulated():
        return Finding(
            "numba", "warn", f"{detail}: the lessons on numba kernels need numba-cuda", _NUMBA_CUDA
        )
    return Finding("numba", "ok", detail)


_NUMBA_CUDA = 'pip install "numba-cuda>=0.30,<0.31"'


def _jupyter() -> Finding:
    versions = {name: _version(name) for name in ("jupyterlab", "ipykernel", "ipywidgets")}
    detail = ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())
    if missing := [name for name, version in versions.items() if version is None]:
        status = "bad" if "ipykernel" in missing else "warn"
        return Finding("Jupyter", status, detail, f"pip install -c constraints.txt {' '.join(missing)}")
    started = _kernel_program()
    if started and Path(started).is_absolute() and Path(started).parent != Path(sys.executable).parent:
        fix = f"{sys.executable} -m ipykernel install --sys-prefix"
        return Finding(
            "Jupyter", "bad", f"{detail}; its kernel `python3` starts {started}, another Python", fix
        )
    return Finding("Jupyter", "ok", f"{detail}; its kernel `python3` starts this Python")


def _kernel_program() -> str:
    """What Jupyter starts for a notebook of this course."""
    from jupyter_client.kernelspec import KernelSpecManager

    return KernelSpecManager().get_kernel_spec("python3").argv[0]


def _cache() -> Finding:
    folder = cache.folder()
    if folder.parent == Path(tempfile.gettempdir()):  # where the cache goes when nothing else will do
        if os.environ.get("USE_PYTORCH_KERNEL_CACHE") == "0":
            return Finding("kernel cache", "note", "switched off (USE_PYTORCH_KERNEL_CACHE=0)")
        fix = "let PYTORCH_KERNEL_CACHE_PATH name a folder that you may write"
        detail = "its folder cannot be written, so kernels are compiled again in every session"
        return Finding("kernel cache", "warn", detail, fix)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    detail = f"{folder}, {len(files)} files, {size:.1f} MiB"
    clear = "grader doctor --clear-cache"
    if damaged := [path.name for path in files if path.suffix == ".so" and not cache.is_whole(path)]:
        return Finding(
            "kernel cache", "warn", f"{detail}; {len(damaged)} damaged, such as {damaged[0]}", clear
        )
    if size > 1024:
        return Finding("kernel cache", "note", detail, f"to free the space: {clear}")
    return Finding("kernel cache", "ok", detail)


def clear_cache() -> str:
    """Delete the compiled kernels; they are compiled again when next used. Returns what was done, one
    sentence.
    """
    folder = cache.folder()
    failed: list[str] = []
    try:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, onerror=lambda _, name, why: failed.append(f"{name}: {why[1]}"))
                continue
            try:
                path.unlink(missing_ok=True)  # another process may be clearing it too
            except OSError as error:
                failed.append(str(error))
    except OSError as error:
        failed.append(str(error))
    if failed:
        return _short(f"the kernel cache could not be cleared whole: {failed[0]}")
    return _short(f"cleared the kernel cache {folder}")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _ask_python(code: str) -> subprocess.CompletedProcess:
    return _ask([sys.executable, "-c", code])


def _ask(command: list[str], text: str = "") -> subprocess.CompletedProcess:
    """Run a command; one that is missing or does not end in time is a failure like any other."""
    try:
        return subprocess.run(
            command, input=text, capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1].strip() if text.strip() else "no reason given."


_EXAMINATIONS: tuple[tuple[str, Callable[[], Finding]], ...] = (
    ("Python", _python),
    ("PyTorch", _torch),
    ("GPU", _gpu),
    ("C++ compiler", cpp_compiler),
    ("numba", _numba),
    ("Jupyter", _jupyter),
    ("kernel cache", _cache),
)
