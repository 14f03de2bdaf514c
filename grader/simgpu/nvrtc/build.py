"""From CUDA C++ to a kernel that the grid runtime can run."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import re
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.simgpu import trace
from grader.simgpu.grid import abi, runtime
from grader.simgpu.native import cache, compiler, libraries
from grader.simgpu.native.messages import SOURCE
from grader.simgpu.native.rewrite import rewrite
from grader.simgpu.nvrtc import errors, nvidia
from grader.simgpu.nvrtc.source import Source

_HERE = Path(__file__).parent
_CPP = _HERE / "cpp"
_INCLUDE = _CPP / "include"  # CUDA's headers, as far as they are there
MOST_STATIC_SHARED = 48 * 1024
_MEETS = re.compile(
    rb"\0(?:__syncthreads\w*|__syncwarp|__activemask|grid_(?:shuffle|ballot|dissent|match|reduce|barrier))\0"
)
_FACTS = """
#define __grid_export extern "C" __attribute__((visibility("default")))
static __thread char _grid_of_ours;
typedef decltype(__grid_parameters_of(&{name})) __grid_of_kernel;
__grid_export unsigned long _grid_how_many() {{ return __grid_of_kernel::count; }}
__grid_export unsigned long _grid_parameter_at(int i) {{
    const __grid_parameter p = __grid_of_kernel::list[i];
    return (unsigned long)p.size << 2 | p.pointer << 1 | p.constant;
}}
__grid_export unsigned long _grid_of_thread() {{ return (unsigned long)&_grid_of_ours; }}
__grid_export __attribute__((no_sanitize("thread"))) int _grid_entry(void* arguments) {{
    __grid_call(&{name}, (void**)arguments);
    return 0;
}}
"""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel: its name ("" if it has none), its size in bytes, and what it points to."""

    name: str
    size: int
    pointer: bool
    constant: bool  # a pointer to const: the kernel only reads there


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel. library_bytes: [low, high) of its code and variables; static_shared: bytes of its
    __shared__ arrays whose size the text gives."""

    name: str
    source: Source
    entry: int
    parameters: tuple[Parameter, ...]
    library_bytes: tuple[int, int]
    static_shared: int
    shared_offset: int  # from what `_grid_of_thread` says to the first of those bytes
    meets: bool  # do its threads wait for each other?
    path: Path
    library: ctypes.CDLL
    lines: dict[int, int] = field(default_factory=dict)  # filled by lines.py: address -> line

    def shared_memory(self) -> tuple[int, int]:
        """Where this host thread's copy of the __shared__ arrays lies, [low, high); (0, 0) if it has none."""
        if not self.static_shared:
            return 0, 0
        low = self.library._grid_of_thread() + self.shared_offset
        return low, low + self.static_shared


def kernel(code: str, name: str, options: Sequence[str] = ()) -> Kernel:
    """Compile the __global__ function `name` of `code`, or find it compiled on disk.

    options: -D, -U and -I of NVRTC's; others are ignored. Raises RuntimeError with NVRTC's words if the text
    is wrong, NoCompiler if there is no compiler.
    """
    source = Source(code)
    wrong = errors.from_text(source, name)
    text = _program(source, source.code, name)
    key = hashlib.sha256(
        f"{compiler.fingerprint(_HERE, _CPP, _INCLUDE)}\n{options}\n{text}".encode()
    ).hexdigest()
    starting = threading.Thread(target=_quietly_start_runtime)  # the first time it is compiled, too
    starting.start()

    def build(path: Path) -> None:
        if (refusal := nvidia.refusal(code, name, options)) is not None and not _headers_of_ours(refusal):
            raise errors.failure(refusal)
        if wrong:
            raise wrong
        arguments = ["-I", str(_CPP), *_kept(options), "-I", str(_INCLUDE), "-o", str(path)]
        respelt = rewrite(code, integer=False)
        if (
            respelt is None
            or compiler.run(arguments, _program(source, respelt, name), hooked=True).returncode
        ):
            done = compiler.run(arguments, text, hooked=True)
            if done.returncode:
                raise errors.from_compiler(done.stderr, source, name)
        libraries.needed_by(path.read_bytes())
        starting.join()

    known = cache.folder() / f"{key}.so"
    if known.exists():
        libraries.needed_by(known.read_bytes())
        starting.join()
    library, cached = cache.load(key, build)
    runtime.library()
    path = Path(library._name)
    if source.variables:  # each module has variables of its own
        path, library = _another(path)
    if trace.active():
        trace.emit(trace.Compile(name, code, (), cached))
    return _described(source, name, path, library)


def _quietly_start_runtime() -> None:
    with contextlib.suppress(Exception):  # said again, to the learner, when the kernel needs it
        runtime.library()


def _program(source: Source, code: str, name: str) -> str:
    headers = "\n".join(f'#include "{h}"' for h in ("cuda.h", "arithmetic.h", "math.h", "intrinsics.h"))
    text, facts = source.for_the_host(code), _FACTS.format(name=name)
    return f'{headers}\n#line 1 "{SOURCE}"\n{text}\n#line 1 "generated"\n{facts}'


def _headers_of_ours(log: str) -> bool:
    """Does NVRTC only miss a header of CUDA's that we have? It comes without any."""
    missing = re.search(r'open source file "(\w+\.h)"', log)
    return bool(missing) and (_INCLUDE / missing[1]).exists()


def _kept(options: Sequence[str]) -> list[str]:
    kept = []
    for option in options:
        for long, short in (
            ("--define-macro=", "-D"),
            ("--undefine-macro=", "-U"),
            ("--include-path=", "-I"),
        ):
            option = option.replace(long, short, 1)
        if re.match(r"-[DUI].", option):
            kept.append(option)
    return kept


_copies: list[tempfile.TemporaryDirectory] = []  # removed when the process ends


def _another(path: Path) -> tuple[Path, ctypes.CDLL]:
    """The same library once more, with fresh variables."""
    folder = tempfile.TemporaryDirectory(prefix="simulated_gpu_", ignore_cleanup_errors=True)
    _copies.append(folder)
    copy = Path(shutil.copy(path, folder.name))
    return copy, ctypes.CDLL(str(copy))


def _described(source: Source, name: str, path: Path, library: ctypes.CDLL) -> Kernel:
    entry = ctypes.cast(library._grid_entry, ctypes.c_void_p).value
    library._grid_of_thread.restype = ctypes.c_uint64
    here = library._grid_of_thread()  # makes this thread's copy
    image = runtime.image_of(entry)
    shared = image.thread_high - image.thread_low
    if shared > MOST_STATIC_SHARED + 16:
        raise errors.too_much_shared(name, shared // 16 * 16, MOST_STATIC_SHARED)
    if shared == 1:  # ours alone
        shared = 0
    count, function = library._grid_how_many(), source.kernel(name)
    names = function.parameters if function and len(function.parameters) == count else ("",) * count
    facts = [library._grid_parameter_at(i) for i in range(count)]
    parameters = [Parameter(n, f >> 2, bool(f & 2), bool(f & 1)) for n, f in zip(names, facts, strict=True)]
    meets = bool(_MEETS.search(path.read_bytes()))
    return Kernel(
        name, source, entry, tuple(parameters), (image.low, image.high), shared, image.thread_low - here,
        meets, path, library,
    )  # fmt: skip


def mode(kernel: Kernel) -> int:
    """How the runtime must run its threads."""
    return abi.FIBERS if kernel.meets else abi.LOOP
