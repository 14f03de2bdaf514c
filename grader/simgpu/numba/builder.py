"""Instructions for the host in place of a GPU's.

numba's lowering builds a kernel's LLVM code through an IRBuilder. This one builds the same code, and beside
it
what the simulated GPU needs: a call of the grid runtime at each access to memory that threads share, thread
coordinates read from the runtime's state, barriers and warp operations as calls of the runtime, and integer
division as the device does it.
"""

from __future__ import annotations

from llvmlite import ir

from grader.simgpu.numba import ptx, runtime

_i1, _i8, _i32, _i64 = (ir.IntType(n) for n in (1, 8, 32, 64))
_void = ir.VoidType()
_pointer = ir.PointerType(_i8)
_SREG = "llvm.nvvm.read.ptx.sreg."
_DEVICE = ("llvm.nvvm.", "cudaCG", "vprintf")
_FEW = 64  # elements of an array that may be stored one by one


class HostBuilder(ir.IRBuilder):
    """The builder of one function of a kernel. `lower` is the lowering that it builds for."""

    lower = None

    # -------------------------------------------------------------- memory

    def load(self, ptr, *args, **kwargs):
        if _shared(ptr):
            self._access("grid_read", ptr)
        return super().load(ptr, *args, **kwargs)

    def store(self, value, ptr, *args, **kwargs):
        if _shared(ptr):
            self._access("grid_write", ptr)
        kind = value.type
        if isinstance(kind, ir.ArrayType) and kind.count > _FEW and getattr(value, "constant", 0) is None:
            return self._clear(ptr)
        return super().store(value, ptr, *args, **kwargs)

    def _clear(self, ptr):
        """Fill a large array with zeros: LLVM would store the elements one by one."""
        size = _i64(self.lower.context.get_abi_sizeof(ptr.type.pointee))
        clear = self.module.declare_intrinsic("llvm.memset", (_pointer, _i64))
        return super().call(clear, [self.bitcast(ptr, _pointer), _i8(0), size, _i1(0)])

    def atomic_rmw(self, op, ptr, *args, **kwargs):
        self._access("grid_atomic", ptr)
        return super().atomic_rmw(op, ptr, *args, **kwargs)

    def cmpxchg(self, ptr, *args, **kwargs):
        if not isinstance(ptr, ir.GlobalVariable):
            self._access("grid_compare_and_swap", ptr)
        return super().cmpxchg(ptr, *args, **kwargs)

    def _access(self, hook: str, ptr) -> None:
        size = self.lower.context.get_abi_sizeof(ptr.type.pointee)
        takes, args = [_i64, _i32, _i64], [self.ptrtoint(ptr, _i64), _i32(size), self.site()]
        if hook in runtime.IN_LINE and self.lower.site_number() is not None:
            hook, takes, args = runtime.IN_LINE[hook], [_pointer, *takes], [self._cell(), *args]
        super().call(self.runtime(hook, _void, takes), args)

    def _cell(self):
        """Memory of this access for the runtime (GridCell in grid/cpp/abi.h)."""
        kind = ir.ArrayType(_i64, runtime.CELL_BYTES // 8)
        cell = ir.GlobalVariable(self.module, kind, self.module.get_unique_name("sim.cell"))
        cell.linkage, cell.initializer, cell.align = "internal", kind(None), runtime.CELL_BYTES
        return self.bitcast(cell, _pointer)

    def site(self):
        """The number of the learner's line that is being lowered, as a value."""
        number = self.lower.site_number()
        if number is not None:
            return _i64(number)
        return super().load(self.at_address(runtime.site_cell(), _i64))  # library code: who called it?

    def note_call(self) -> None:
        """Leave the line where library code that is called from it finds it."""
        super().store(self.site(), self.at_address(runtime.site_cell(), _i64))

    def at_address(self, address: int, kind):
        return _i64(address).inttoptr(kind.as_pointer())

    def runtime(self, name: str, returns, takes):
        """The function `name` of the runtime."""
        found = self.module.globals.get(name)
        return found or ir.Function(self.module, ir.FunctionType(returns, takes), name)

    # -------------------------------------------------------------- what a GPU has and the host has not

    def call(self, fn, args, *more, **kwargs):
        if isinstance(fn, ir.InlineAsm):
            return ptx.translate(self, fn, list(args))
        name = getattr(fn, "name", "")
        if name.startswith(_SREG):
            return self._register(name[len(_SREG) :])
        if name.startswith(_DEVICE):
            return self._device_function(fn, name, list(args))
        if "_numba_atomic_" in name:
            self._access("grid_atomic", args[0])
        return super().call(fn, args, *more, **kwargs)

    def _register(self, name: str):
        if name == "warpsize":
            return _i32(32)
        return super().load(self.at_address(runtime.register_address(name), _i32))

    def _device_function(self, fn, name: str, args: list):
        """numba's device functions are called by our names and told the line; a struct {i32, i1} comes
        packed.
        """
        if name.startswith("llvm.nvvm.atomic.load."):
            self._access("grid_atomic", args[0])
        kind = fn.function_type
        packed = isinstance(kind.return_type, ir.LiteralStructType)
        args = [self.zext(a, _i32) if a.type == _i1 else a for a in args]
        returns = _i64 if packed else kind.return_type
        host = self.runtime(runtime.device_function(name), returns, [*[a.type for a in args], _i64])
        result = super().call(host, [*args, self.site()])
        if not packed:
            return result
        value = self.insert_value(ir.Constant(kind.return_type, ir.Undefined), self.trunc(result, _i32), 0)
        flag = self.trunc(self.lshr(result, _i64(32)), _i1)
        return self.insert_value(value, flag, 1)

    # -------------------------------------------------------------- division

    def sdiv(self, lhs, rhs, *args, **kwargs):
        return self._divide(super().sdiv, lhs, rhs, signed=True, remainder=False)

    def udiv(self, lhs, rhs, *args, **kwargs):
        return self._divide(super().udiv, lhs, rhs, signed=False, remainder=False)

    def srem(self, lhs, rhs, *args, **kwargs):
        return self._divide(super().srem, lhs, rhs, signed=True, remainder=True)

    def urem(self, lhs, rhs, *args, **kwargs):
        return self._divide(super().urem, lhs, rhs, signed=False, remainder=True)

    def _divide(self, divide, lhs, rhs, signed: bool, remainder: bool):
        """x/0 is all ones and x%0 is x, MIN/-1 is MIN: on the host they would end the process."""
        if isinstance(rhs, ir.Constant) and rhs.constant not in (0, -1, ir.Undefined):
            return divide(lhs, rhs)
        kind = lhs.type
        zero = unsafe = self.icmp_unsigned("==", rhs, kind(0))
        if signed:
            low = self.icmp_unsigned("==", lhs, kind(-(1 << (kind.width - 1))))
            unsafe = self.or_(zero, self.and_(low, self.icmp_signed("==", rhs, kind(-1))))
        value = divide(lhs, self.select(unsafe, kind(1), rhs))  # MIN/1 is MIN and MIN%1 is 0: both right
        return self.select(zero, lhs if remainder else kind(-1), value)

    # -------------------------------------------------------------- conversion

    def fptosi(self, value, typ, *args, **kwargs):
        return self._to_integer(value, typ, "llvm.fptosi.sat")

    def fptoui(self, value, typ, *args, **kwargs):
        return self._to_integer(value, typ, "llvm.fptoui.sat")

    def _to_integer(self, value, typ, saturate: str):
        """Values out of range give the nearest integer of 32 or 64 bits, of which a smaller type takes the
        low bits. NaN gives 0 from float to 32 bits, else only the highest bit is set.
        """
        bits, width = (32 if value.type == ir.FloatType() else 64), max(typ.width, 32)
        kind = ir.IntType(width)
        convert = self.runtime(f"{saturate}.i{width}.f{bits}", kind, [value.type])
        result = super().call(convert, [value])
        if (bits, width) != (32, 32):
            nan = self.fcmp_unordered("uno", value, value)
            result = self.select(nan, kind(-(1 << (width - 1))), result)
        return result if width == typ.width else self.trunc(result, typ)


def _shared(ptr) -> bool:
    """May other threads see what `ptr` points to? Not a function's own variables, results and constants."""
    while isinstance(ptr, (ir.GEPInstr, ir.CastInstr)):
        ptr = ptr.operands[0]
    if isinstance(ptr, ir.Argument):
        return not ptr.name.startswith(".")
    return not isinstance(ptr, (ir.AllocaInstr, ir.GlobalVariable, ir.Constant, ir.FormattedConstant))
