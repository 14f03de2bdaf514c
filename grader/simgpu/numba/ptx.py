"""The assembly instructions that numba's lowering writes itself, as code for the host."""

from __future__ import annotations

import re

from llvmlite import ir

from grader.simgpu.numba import runtime

_i16, _i32, _i64 = (ir.IntType(n) for n in (16, 32, 64))
_half, _float = ir.HalfType(), ir.FloatType()
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_COMPARISON = re.compile(r"setp\.(\w+)\.f16")
_ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class UnknownInstruction(NotImplementedError):
    """A kernel uses an instruction that the simulated GPU does not have."""


def translate(b, asm: ir.InlineAsm, args: list):
    """What `asm` computes of `args`, built by the HostBuilder `b`."""
    text = asm.asm.strip()
    name = text.split()[0]
    if "dynamic_smem_size" in text:
        return b.load(b.at_address(runtime.dynamic_shared_cell(), _i32))
    if "lanemask_lt" in text:
        lane = b.load(b.at_address(runtime.register_address("laneid"), _i32))
        return b.sub(b.shl(_i32(1), lane), _i32(1))
    if name.startswith("activemask"):
        return ir.IRBuilder.call(b, b.runtime("grid_active_mask", _i32, [_i64]), [b.site()])
    if name.startswith(("nanosleep", "brkpt")):
        return None
    if name.startswith("tanh.approx.f32"):
        return ir.IRBuilder.call(b, b.runtime("__nv_tanhf", _float, [_float]), args)
    if name.startswith("ld."):
        return b.load(args[0])  # cache hints change no value
    if name.startswith("st."):
        return b.store(args[1], args[0])
    if ".f16" in text:
        return _half_instruction(b, asm, text, args)
    raise UnknownInstruction(f"The simulated GPU does not know the instruction `{text}`.")


def _half_instruction(b, asm: ir.InlineAsm, text: str, args: list):
    """float16 numbers are 16-bit integers in numba's code."""
    op, *parts = text.split()[0].split(".")
    returns = asm.function_type.return_type
    compared = _COMPARISON.search(text)
    if compared:
        x, y = (b.bitcast(a, _half) for a in args)
        compare = b.fcmp_unordered if compared[1] == "ne" else b.fcmp_ordered
        return b.zext(compare(_ORDERED[compared[1]], x, y), returns)
    if op == "cvt":
        return _convert(b, parts, returns, args[0])
    if op == "neg":
        return b.xor(args[0], _i16(0x8000))
    if op == "abs":
        return b.and_(args[0], _i16(0x7FFF))
    if op in _ARITHMETIC or op == "fma":
        wide = [b.fpext(b.bitcast(a, _half), ir.DoubleType()) for a in args]  # products of halves are exact
        value = b.fadd(b.fmul(*wide[:2]), wide[2]) if op == "fma" else getattr(b, _ARITHMETIC[op])(*wide)
        return b.bitcast(b.fptrunc(value, _half), _i16)
    raise UnknownInstruction(f"The simulated GPU does not know the instruction `{text}`.")


def _convert(b, parts: list[str], returns, value):
    source, target = parts[-1].rstrip(","), parts[-2]
    if source == "f16":
        value = b.bitcast(value, _half)
        if target.startswith("f"):
            return b.fpext(value, returns)
        rounded = ir.IRBuilder.call(
            b, b.runtime("__nv_rint", ir.DoubleType(), [ir.DoubleType()]), [b.fpext(value, ir.DoubleType())]
        )
        return (b.fptosi if target.startswith("s") else b.fptoui)(rounded, returns)
    if source.startswith("f"):
        half = b.fptrunc(value, _half)
    else:
        half = (b.sitofp if source.startswith("s") else b.uitofp)(value, _half)
    return b.bitcast(half, _i16)
