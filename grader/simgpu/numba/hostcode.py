"""A kernel's LLVM code, which numba made for a GPU, turned into machine code of the host."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from grader.simgpu.grid import abi
from grader.simgpu.numba import runtime
from grader.simgpu.numba.modules import modules

_DROPPED = re.compile(
    r"""^target\ (?:triple|datalayout)\ =.*$      # the GPU
      | ^\ *call\ void\ @"?llvm\.dbg\..*$         # debug information, in NVVM's old form
      | ,\ ![a-z.]+\ ![0-9]+ | \ !dbg\ ![0-9]+ | ^!.*$
      | ^@"llvm\.used"\ =.*$ | \ addrspace\(\d+\)""",
    re.M | re.X,
)
_SHARED = re.compile(
    r'^(@"_cudapy_smem_\d+") = (?:external )?addrspace\(3\) global (.*?)(?: undef)?(?:, align \d+)?$', re.M
)
_INTRINSIC = re.compile(r'@"__nv_(sqrt|fabs|floor|ceil|trunc|rint|fma|copysign|fmin|fmax)(f?)"')
_REGISTER = re.compile(
    r'@"llvm\.nvvm\.read\.ptx\.sreg\.(n?(?:tid|ctaid))\.([xyz])"'
)  # in numba's wrapper of a debug kernel
_LLVM_NAMES = {"fmin": "minnum", "fmax": "maxnum"}
_THREAD = "sim.thread"
# LLVM's type of a parameter -> struct's letters for it in its slot of 8 bytes
_LETTERS = {
    "ptr": "Q",
    "i64": "Q",
    "i32": "I4x",
    "i16": "H6x",
    "i8": "B7x",
    "i1": "B7x",
    "float": "f4x",
    "double": "d",
}
_STATIC_LIMIT = 48 << 10  # bytes of static shared memory that a kernel may have
_LOCAL_LIMIT = 512 << 10  # bytes of local memory that a thread may have
_LOCAL = re.compile(r" = alloca \[(\d+) x (.+?)\](?:,|$)")


@dataclass
class HostCode:
    """Machine code of one kernel: `thread` is the address of `int thread(void* parameters)`, one thread's
    work.

    `letters`: how each parameter is packed into its slot, as the module struct has it. `mode`: abi.LOOP,
    FIBERS or COOPERATIVE. `shared`: bytes of static shared memory. `variables`: addresses, by name.
    `rehearsed`: the last launch that was rehearsed, and the memory that it read and wrote.
    """

    engine: Any
    thread: int
    letters: tuple[str, ...]
    mode: int
    shared: int
    variables: dict[str, int]
    rehearsed: tuple[Any, list, list] = (None, [], [])


def build(texts: list[str], entry: str) -> HostCode:
    """Compile `texts`, the modules of one kernel, whose entry point is the function `entry`.

    Raises UnknownFunction if it calls what the simulated GPU has not.
    """
    machine = _machine()
    module = None
    for text in dict.fromkeys(texts):
        parsed = _parse(_for_host(text), machine)
        if module is None:
            module = parsed
        else:
            module.link_in(parsed)
    kinds = [str(a.type) for a in module.get_function(entry).arguments]
    for text in (_thread_function(entry, kinds), runtime.functions_in_line()):
        module.link_in(_parse(text, machine))
    for fn in module.functions:
        if not fn.is_declaration and fn.name != _THREAD:
            fn.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    _check_local(module)
    calls = {fn.name for fn in module.functions if fn.is_declaration and not fn.name.startswith("llvm.")}
    _resolve(calls)
    arrays, shared = _shared_arrays(module, machine)
    engine = llvm.create_mcjit_compiler(module, machine)
    for variable, at in arrays:
        engine.add_global_mapping(variable, runtime.address("grid_shared_memory") + at)
    engine.finalize_object()
    variables = {
        v.name: engine.get_global_value_address(v.name)
        for v in module.global_variables
        if re.search(r"__(errcode|c?ta?id[xyz])__$", v.name)
    }
    mode = (
        abi.COOPERATIVE if runtime.GRID_SYNC in calls else abi.FIBERS if calls & runtime.WAITING else abi.LOOP
    )
    letters = tuple(_LETTERS[kind] for kind in kinds)
    return HostCode(engine, engine.get_function_address(_THREAD), letters, mode, shared, variables)


def _for_host(text: str) -> str:
    text = modules().nvvm.llvm_replace(text)  # numba's own definitions of some atomics
    text = _SHARED.sub(r"\1 = external global \2", text)
    text = _DROPPED.sub("", text).replace("addrspacecast", "bitcast")
    text = _REGISTER.sub(r'@"nv_\1_\2"', text)
    return _INTRINSIC.sub(lambda m: f'@"llvm.{_LLVM_NAMES.get(m[1], m[1])}.f{32 if m[2] else 64}"', text)


def _thread_function(entry: str, kinds: list[str]) -> str:
    """A function that takes the parameters from memory, one in each 8 bytes."""
    lines = []
    for i, kind in enumerate(kinds):
        lines += [f"%a{i} = getelementptr i64, ptr %p, i64 {i}", f"%v{i} = load {kind}, ptr %a{i}"]
    values = ", ".join(f"{kind} %v{i}" for i, kind in enumerate(kinds))
    return (
        f'declare void @"{entry}"({", ".join(kinds)})\n'
        f'define i32 @"{_THREAD}"(ptr %p) {{\n'
        + "\n".join(lines)
        + f'\ncall void @"{entry}"({values})\nret i32 0\n}}'
    )


def _parse(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


@functools.cache
def _host() -> tuple[llvm.Target, str, str]:
    for setup in ("initialize_native_target", "initialize_native_asmprinter"):
        getattr(llvm, setup)()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), features


def _machine() -> llvm.TargetMachine:
    """The host, as a target; an engine owns its own. `pic` and `jit`: code may lie far from what it calls."""
    target, cpu, features = _host()
    return target.create_target_machine(
        cpu=cpu, features=features, opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )


def _resolve(names: set[str]) -> None:
    for name in names:
        where = runtime.address(name)
        if where is not None:
            llvm.add_symbol(name, where)
        elif not llvm.address_of_symbol(name) and not name.startswith("_cudapy"):
            raise runtime.UnknownFunction(f"The simulated GPU does not know the device function `{name}`.")


def _check_local(module: llvm.ModuleRef) -> None:
    """Raises LinkerError, as ptxas does, if local arrays do not fit into a thread's local memory."""
    for fn in module.functions:
        used = 0
        for place in next(iter(fn.blocks)).instructions if not fn.is_declaration else ():
            array = _LOCAL.search(str(place)) if place.opcode == "alloca" else None
            if array:
                used += int(array[1]) * sum(map(_bytes, re.findall(r"double|float|\bi\d+", array[2])))
        if used > _LOCAL_LIMIT:
            raise modules().driver.LinkerError(
                "ptxas error   : Entry function uses too much local data "
                f"(0x{used:x} bytes, 0x{_LOCAL_LIMIT:x} max)"
            )


def _bytes(kind: str) -> int:
    """How many bytes a value of LLVM's type `kind`, a number, takes."""
    return {"double": 8, "float": 4}.get(kind) or -(-int(kind[1:]) // 8)


def _shared_arrays(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> tuple[list, int]:
    """Where each of the kernel's shared arrays lies in the block's shared memory, and how much it takes.

    Arrays of dynamic size share the bytes after the others. Raises LinkerError if they do not fit, as ptxas
    does.
    """
    arrays = [v for v in module.global_variables if v.name.startswith("_cudapy_smem")]
    sizes = [machine.target_data.get_abi_size(v.global_value_type) for v in arrays]
    places, used = [], 0
    for size in sizes:
        places.append(used)
        used += -(-size // 16) * 16
    if used > _STATIC_LIMIT:
        raise modules().driver.LinkerError(
            "ptxas error   : Entry function uses too much shared data "
            f"(0x{used:x} bytes, 0x{_STATIC_LIMIT:x} max)"
        )
    return [(v, at if n else used) for v, at, n in zip(arrays, places, sizes, strict=True)], used
