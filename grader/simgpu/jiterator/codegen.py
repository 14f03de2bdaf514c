"""The C++ program around a kernel: what it may use, then a loop that calls it for each element."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from grader.simgpu.jiterator import errors


@dataclass(frozen=True)
class Kind:
    """A dtype: what `T` is for it, and how its elements lie in memory (bytes, or a code of launch.cpp)."""

    compute: str
    layout: int
    itemsize: int


KINDS = {
    torch.bool: Kind("bool", 1, 1),
    torch.uint8: Kind("uint8_t", 1, 1),
    torch.int8: Kind("int8_t", 1, 1),
    torch.int16: Kind("int16_t", 2, 2),
    torch.int32: Kind("int", 4, 4),
    torch.int64: Kind("int64_t", 8, 8),
    torch.float16: Kind("float", 32, 2),
    torch.bfloat16: Kind("float", 33, 2),
    torch.float32: Kind("float", 4, 4),
    torch.float64: Kind("double", 8, 8),
    torch.complex32: Kind("std::complex<float>", 34, 4),
    torch.complex64: Kind("std::complex<float>", 8, 8),
    torch.complex128: Kind("std::complex<double>", 16, 16),
}
CPP_TYPES = {
    bool: "bool",
    int: "int64_t",
    float: "double",
    complex: "std::complex<double>",
}  # of keyword arguments
INTEGERS = frozenset(("bool", "uint8_t", "int8_t", "int16_t", "int", "int64_t"))
_POSITION = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\b")

_DEDUCES = re.compile(r"\btemplate\s*<[^>]*,|\bauto\b")  # parameters that take the type of their argument

# Names that the program around a kernel on the GPU uses itself. A kernel so called does not compile there.
_ALWAYS = frozenset(
    [
        "main",
        "num_threads",
        "thread_work_size",
        "block_work_size",
        "Array",
        "ScalarType",
        "idx",
        "remaining",
        "thread_idx",
        "data",
        "j",
        "scalar_val",
    ]
)
_VECTORIZED = frozenset(["N", "vec_size", "scalar_t", "loop_size"])
_UNROLLED = frozenset(["numel", "input_calculator", "output_calculator", "l", "s"])


@dataclass(frozen=True)
class Program:
    """Everything that a compiled kernel depends on. extras: the C++ types of the keyword arguments, in order;
    work: elements per GPU thread (8, or 16 for one-byte types); casts: are inputs converted to the common
    dtype (then a real kernel may use std::complex)?"""

    code: str
    name: str
    compute: str
    inputs: int
    outputs: int
    by_reference: bool
    extras: tuple[str, ...]
    work: int
    casts: bool

    @property
    def integer(self) -> bool:
        return self.compute in INTEGERS

    @property
    def uses_position(self) -> bool:
        return _POSITION.search(self.code) is not None

    @property
    def call(self) -> str:
        """How the kernel is called, with types for values: for error messages."""
        arguments = [self.compute] * self.inputs + list(self.extras)
        if self.by_reference:
            arguments += [f"{self.compute}&"] * self.outputs
        return f"{self.name}<{self.compute}>({', '.join(arguments)})"

    def source(self, rewritten: str | None = None) -> str:
        """The whole program, around the text as written or `rewritten` to follow the GPU's integer rules."""
        t, inputs, outputs = self.compute, range(self.inputs), range(self.outputs)
        complex_ = t.startswith("std::complex") or self.casts
        if any(e.startswith("std::complex") for e in self.extras) and not complex_:
            message = (
                'namespace "std" has no member "complex": a complex keyword argument needs a complex kernel'
            )
            raise errors.error([errors.Line(0, 0, self.call, message)], self.name, t)
        headers = ["device.h", "arithmetic.h", "math.h", "intrinsics.h"] + (["complex.h"] if complex_ else [])
        values = [f"__sim_k{k}" for k in range(len(self.extras))]
        if rewritten is not None and self.integer and not _DEDUCES.search(self.code):
            values = [f"__sim::Argument<{e}>{{{v}}}" for e, v in zip(self.extras, values, strict=True)]
        arguments = ", ".join([f"__sim_a{k}" for k in inputs] + values)
        body = [f"{t} __sim_a{k} = __sim_in{k}[__sim_j];" for k in inputs]
        body += [
            f"{e} __sim_k{k} = *(const {e}*)(__sim_extra + {16 * k});" for k, e in enumerate(self.extras)
        ]
        if self.uses_position:
            body.append("__sim_place(__sim_position, __sim_j);")
        if self.by_reference:
            body += [f"{t} __sim_r{k} = __sim::unwritten<{t}>();" for k in outputs]
            results = ", ".join(f"__sim_r{k}" for k in outputs)
            body.append(f"{self.name}<{t}>({arguments}, {results});")
            body += [f"__sim_out{k}[__sim_j] = __sim_r{k};" for k in outputs]
        else:
            body.append(f"__sim_out0[__sim_j] = __sim::result<{t}>({self.name}<{t}>({arguments}));")
        return "\n".join([
            f"constexpr int thread_work_size = {self.work};",
            *(f'#include "{h}"' for h in headers),
            f'#line 1 "{errors.SOURCE}"',
            self.code if rewritten is None else rewritten,
            '#line 1 "generated"',
            _PLACE if self.uses_position else "",
            'extern "C" void __sim_run(long long __sim_n, char* const* __sim_in, char* const* __sim_out,',
            "                          const char* __sim_extra, const long long* __sim_position) {",
            *(f"const {t}* __restrict __sim_in{k} = (const {t}*)__sim_in[{k}];" for k in inputs),
            *(f"{t}* __restrict __sim_out{k} = ({t}*)__sim_out[{k}];" for k in outputs),
            "for (long long __sim_j = 0; __sim_j < __sim_n; __sim_j++) {",
            *body,
            "}",
            "}",
            "",
        ])  # fmt: skip


# Which GPU thread would have element `j`: neighbours side by side, but `vector` elements a thread in the full
# blocks of a vectorised kernel.
_PLACE = """
static inline void __sim_place(const long long* position, long long j) {
    const long long i = position[0] + j, n = position[1], vector = position[2], block = i / block_work_size;
    const bool full = (block + 1) * block_work_size <= n;
    threadIdx = {(unsigned int)((full ? i % block_work_size / vector : i) % num_threads), 0, 0};
    blockIdx = {(unsigned int)block, 0, 0};
    blockDim = {num_threads, 1, 1};
    gridDim = {(unsigned int)((n + block_work_size - 1) / block_work_size), 1, 1};
}"""


def check_name(program: Program, vectorized: bool) -> None:
    """Raise a compile error if the kernel is called like something in the program around it on the GPU."""
    name = program.name
    numbered = re.fullmatch(r"(arg|out|extra_arg_|input|temp_out)(\d+)", name)
    taken = name in _ALWAYS or name in (_VECTORIZED if vectorized else _UNROLLED)
    if numbered:
        kind, number = numbered[1], int(numbered[2])
        limits = {"arg": program.inputs, "out": program.outputs, "extra_arg_": len(program.extras),
                  "input": program.inputs if vectorized else 0, "temp_out": 0}  # fmt: skip
        taken |= number < limits[kind]
    if taken:
        text = next((line for line in program.code.split("\n") if re.search(rf"\b{name}\b", line)), "")
        number = program.code.split("\n").index(text) + 1
        message = (
            f'the name "{name}" is already used in the program that PyTorch generates around your kernel: '
            "call it something else"
        )
        raise errors.error([errors.Line(number, text.find(name) + 1, text, message)], name, program.compute)
