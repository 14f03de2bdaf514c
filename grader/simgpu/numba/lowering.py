"""numba's lowering of a kernel, with the learner's lines and checks of every index."""

from __future__ import annotations

import functools

from llvmlite import ir as llvm

from grader.simgpu.numba.builder import HostBuilder
from grader.simgpu.numba.modules import modules
from grader.simgpu.numba.sites import Site
from grader.simgpu.numba.state import state

_i32, _i64 = llvm.IntType(32), llvm.IntType(64)
OUT_OF_BOUNDS = 1  # what grid_fail is told


@functools.cache
def _library_folders() -> tuple[str, ...]:
    import numba

    return tuple({numba.__path__[0], modules().cuda.__path__[0]})


@functools.cache
def lowering_class() -> type:
    """The lowering for kernels: numba's class for CUDA, with what the simulated GPU adds."""
    m = modules()
    ir = m.ir
    base = m.lowering.CUDALower if m.own_compiler else m.lowering.Lower

    class SimLower(base):
        _site: int | None = None

        def setup_function(self, fndesc):
            super().setup_function(fndesc)
            self.builder.__class__ = HostBuilder
            self.builder.lower = self
            self._of_library = self.func_ir.loc.filename.startswith(_library_folders())

        def site_number(self) -> int | None:
            """The number of the line that is being lowered; None in numba's own code."""
            return self._site

        def lower_inst(self, inst):
            if not self._of_library:
                var = _touched(ir, inst)
                ndim = getattr(self.fndesc.typemap.get(getattr(var, "name", "")), "ndim", 0)
                self._site = state.sites.number(Site(inst.loc.filename, inst.loc.line, _name(var), ndim))
                if isinstance(getattr(inst, "value", None), ir.Expr) and inst.value.op == "call":
                    self.builder.note_call()
            super().lower_inst(inst)

    return SimLower


def _touched(ir, inst):
    """The variable that holds the array that the instruction `inst` touches; None if it touches none."""
    value = getattr(inst, "value", None)
    if isinstance(inst, (ir.SetItem, ir.StaticSetItem)):
        return inst.target
    if isinstance(value, ir.Expr) and value.op in ("getitem", "static_getitem"):
        return value.value
    if isinstance(value, ir.Expr) and value.op == "call" and value.args:
        return value.args[0]  # atomics name their array first
    return None


def _name(var) -> str:
    """What the learner calls a variable; "" if it has no name of theirs."""
    name = getattr(var, "name", "")
    return "" if name.startswith("$") else name.split(".")[0]


def check_index(context, builder, index, length, axis=None) -> None:
    """In place of cgutils.do_boundscheck: the runtime ends the launch, and says who asked for what."""
    bad = builder.icmp_unsigned(">=", index, length)
    with modules().cgutils.if_unlikely(builder, bad):
        negative = builder.icmp_signed("<", index, index.type(0))
        asked = builder.select(negative, builder.sub(index, length), index)  # before it was wrapped
        fail = builder.runtime("grid_fail", llvm.VoidType(), [_i32, _i64, _i64, _i64, _i32])
        for attribute in ("noreturn", "cold"):
            fail.attributes.add(attribute)
        where = axis if isinstance(axis, int) else 0
        builder.call(fail, [_i32(OUT_OF_BOUNDS), builder.site(), asked, length, _i32(where)])
