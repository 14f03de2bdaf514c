"""The host C++ compiler: which one, with which flags, and what identifies it (for the cache on disk)."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

CPP = Path(__file__).parent / "cpp"
_CANDIDATES = ("g++", "c++", "clang++")


class NoCompiler(RuntimeError):
    """There is no C++ compiler; the message says what to install on this kind of machine."""


def command() -> list[str]:
    """The compiler as the start of a command line: `$CXX`, else the first of g++, c++, clang++ found."""
    return list(_command(os.environ.get("CXX", ""), os.environ.get("PATH", "")))


@functools.lru_cache(maxsize=8)
def _command(cxx: str, path: str) -> tuple[str, ...]:
    asked = shlex.split(cxx)
    for words in [asked] if asked else [[name] for name in _CANDIDATES]:
        found = shutil.which(words[0], path=path)
        if found:
            return (found, *words[1:])
    raise NoCompiler(_missing(asked))


def _missing(asked: list[str]) -> str:
    if asked:
        start = f"The environment variable CXX names the compiler {asked[0]!r}, but there is no such program."
    else:
        start = (
            "The simulated GPU compiles kernels with a C++ compiler, and none is installed here "
            "(looked for g++, c++ and clang++)."
        )
    if sys.platform == "darwin":
        fix = "Install one with: xcode-select --install"
    elif sys.platform == "win32":
        fix = "Use the course inside WSL (Windows Subsystem for Linux), and there: sudo apt install g++"
    elif os.environ.get("CONDA_PREFIX"):
        fix = "Install one with: conda install -c conda-forge cxx-compiler"
    else:
        fix = (
            "Install one with: sudo apt install g++   "
            "(Fedora: sudo dnf install gcc-c++; conda: conda install -c conda-forge cxx-compiler)"
        )
    return f"{start} {fix} Then run the cell again."


@functools.lru_cache(maxsize=8)
def _is_clang(compiler: tuple[str, ...]) -> bool:
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return "clang" in version


@functools.lru_cache(maxsize=1)
def _vector_level() -> int:
    """Which functions of the C library have vector variants: 2 most, 1 exp, log, sin, cos and pow, 0 none."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return 0
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return 0
    return 2 if hasattr(library, "_ZGVdN4v_tanh") else 1 if hasattr(library, "_ZGVdN4v_exp") else 0


def _common(compiler: list[str]) -> list[str]:
    native = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
    flags = [native, "-std=c++17", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing"]
    return flags + (["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else [])


def kernel_flags(compiler: list[str]) -> list[str]:
    """For the learner's code: endless loops stay, recursion uses the stack, a missing return traps."""
    clang = _is_clang(tuple(compiler))
    flags = [
        "-O3", "-nostdinc", "-nostdinc++", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
        "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fno-delete-null-pointer-checks",
        "-fno-finite-loops", "-fno-optimize-sibling-calls", "-fstack-protector-strong",
        "-fstack-clash-protection", "-fsanitize=return", "-pedantic-errors", "-I", str(CPP),
    ]  # fmt: skip
    if clang:
        return flags + [
            "-fsanitize-trap=return",
            "-D__SIM_VECTOR=0",
            "-ferror-limit=5",
            "-fno-color-diagnostics",
            "-fno-caret-diagnostics",
        ]
    return flags + [
        "-fsanitize-undefined-trap-on-error", f"-D__SIM_VECTOR={_vector_level()}", "-fmax-errors=5",
        "-fdiagnostics-color=never", "-fno-diagnostics-show-caret",
    ]  # fmt: skip


def hooked_flags(compiler: list[str]) -> list[str]:
    """For code that must tell of each access to memory (see grid/cpp/tsan.cpp): after `kernel_flags`.

    Nothing is linked that a kernel does not name, the compiler's own thread sanitizer least of all.
    """
    name = tuple(compiler)
    flags = [
        "-O2", "-g1", "-fsanitize=thread", "-Wno-pedantic", "-Werror=vla", "-nostdlib",
        *(["-fno-tree-sra"] if not _is_clang(name) else []),  # a float4 is read whole
        *(["-fno-crossjumping", "-fno-tree-tail-merge"] if not _is_clang(name) else []),  # one call a barrier
        "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
        "-Wl,-dead_strip" if sys.platform == "darwin" else "-Wl,--gc-sections",
    ]  # fmt: skip
    if _is_clang(name):
        off, volatiles = "-tsan-instrument-func-entry-exit=0", "-tsan-distinguish-volatile=1"
        return [*flags, "-mllvm", off, "-mllvm", volatiles]
    if _version(name) >= 11:
        flags.append("--param=tsan-distinguish-volatile=1")
    if _version(name) >= 12:
        flags.append("--param=tsan-instrument-func-entry-exit=0")
    return flags


@functools.lru_cache(maxsize=8)
def _version(compiler: tuple[str, ...]) -> int:
    words = subprocess.run([*compiler, "-dumpversion"], capture_output=True, text=True, check=False).stdout
    return int(words.split(".")[0] or 0)


def libraries() -> list[str]:
    return [*(["-lmvec"] if _vector_level() else []), "-lm", "-lc"]


# A kernel finds no header anywhere, also where the user's environment names folders of them.
_SEARCH_PATHS = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}


def run(
    arguments: list[str], text: str | None = None, kernel: bool = True, hooked: bool = False
) -> subprocess.CompletedProcess:
    """Run the compiler: kernel code from `text` (hooked: that tells of its accesses to memory), or a source
    of ours named in `arguments`."""
    compiler = command()
    flags = _common(compiler) + (kernel_flags(compiler) if kernel else ["-O2", "-U_FORTIFY_SOURCE"])
    flags += hooked_flags(compiler) if hooked else ["-w"]
    source = ["-x", "c++", "-"] if text is not None else []
    environment = {name: value for name, value in os.environ.items() if name not in _SEARCH_PATHS}
    return subprocess.run(
        [*compiler, *flags, *source, *arguments, *libraries()],
        input=text, capture_output=True, text=True, check=False, encoding="utf-8", errors="replace",
        env=environment | {"LC_ALL": "C"},
    )  # fmt: skip


def fingerprint(*folders: Path) -> str:
    """Changes with the compiler, the kind of processor, and the sources here and in `folders`."""
    if not os.path.exists(command()[0]):  # it was there when last looked for
        _command.cache_clear()
    return _fingerprint(tuple(command()), folders)


@functools.lru_cache(maxsize=16)
def _fingerprint(compiler: tuple[str, ...], folders: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    found = os.stat(compiler[0])
    digest.update(repr((compiler, os.path.realpath(compiler[0]), found.st_mtime_ns, found.st_size)).encode())
    digest.update(_processor().encode())
    for folder in (CPP, CPP.parent, *folders):
        for path in sorted(p for p in folder.iterdir() if p.suffix in (".h", ".cpp", ".py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _processor() -> str:
    """The processor's features: code that uses more of them stops with an illegal instruction."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return line
    except OSError:
        pass
    return platform.platform() + platform.processor()
