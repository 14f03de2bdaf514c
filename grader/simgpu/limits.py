"""Where the simulated GPU differs from a real one, and why: the one list, shown by `grader.limits()`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """One difference. Tests refer to `name`; `real` and `here` say what each GPU does, `why` the rest."""

    topic: str
    name: str
    real: str
    here: str
    why: str


LIMITS = (
    # ------------------------------------------------------------------ values
    Limit(
        "values",
        "last digits",
        "math functions have the errors that CUDA documents; a multiply-add is often one operation",
        "the same functions, right to those errors; the last digit may differ",
        "the host's compiler fuses other multiply-adds, and its functions round differently",
    ),
    Limit(
        "values",
        "random numbers",
        "seeds give the sequences of CUDA's generator",
        "seeds give other sequences",
        "they come from PyTorch's generator for the CPU, kept apart from the host's own",
    ),
    Limit(
        "values",
        "unordered work",
        "an unordered read sees old or new contents, as luck has it",
        "the one that is wrong, always: old contents, 0xFF bytes in memory never written, or what a later "
        "write left; and it is reported",
        "a mistake that shows once in a thousand runs cannot be learnt from",
    ),
    Limit(
        "values",
        "floats to integers",
        "a NaN, an infinity or a float too large becomes a fixed integer in `t.to(torch.int32)`",
        "the host's processor decides (inside kernels the device's rule holds)",
        "PyTorch's own conversion runs on the host",
    ),
    # ------------------------------------------------------------------ errors
    Limit(
        "errors",
        "out of bounds",
        "an access a little outside its array reads or overwrites a neighbour and says nothing",
        "the launch ends with the line, the thread and the index",
        "nobody could learn from silence",
    ),
    Limit(
        "errors",
        "inside another argument",
        "an index so wrong that it lands inside another argument of the launch says nothing",
        "the same, for CUDA C++ kernels",
        "a pointer does not carry the array that it was made from",
    ),
    Limit(
        "errors",
        "missing return",
        "a jiterator kernel that reaches its end without `return` gives whatever a register holds",
        "RuntimeError at the launch",
        "nobody could learn from rubbish",
    ),
    Limit(
        "errors",
        "compiler's words",
        "errors in C++ are NVRTC's",
        "NVRTC's where it is installed (package nvidia-cuda-nvrtc, no GPU needed), else the host compiler's, "
        "in NVRTC's words where we know them",
        "the kernels are compiled by the host's compiler",
    ),
    Limit(
        "errors",
        "waiting for another thread",
        "a thread may spin until another one of its launch sets a flag",
        "the loop never ends; interrupt it",
        "threads take turns only at barriers and at exchanges within a warp",
    ),
    Limit(
        "errors",
        "overrun of a local array",
        "an index outside an array of the thread's own reads or overwrites a neighbour and says nothing",
        "in CUDA C++ likewise; a large overrun ends the launch: the host's C library may print `stack "
        "smashing detected`, and in a kernel with barriers the message may speak of calls without end",
        "local arrays lie on the host's stack, where accesses are not checked",
    ),
    Limit(
        "errors",
        "__launch_bounds__",
        "a launch with more threads in a block than `__launch_bounds__` promises is refused",
        "it runs",
        "the promise is for the compiler's registers, and there are none to share out",
    ),
    Limit(
        "errors",
        "inline assembly",
        'asm("...") in CUDA C++ is compiled',
        "refused, with a message, unless it means something to this machine's processor too",
        "there is no machine to run it",
    ),
    # ------------------------------------------------------------------ order
    Limit(
        "order",
        "host threads",
        "each thread of the host has waited for its own streams only",
        "what one thread of the host has waited for counts as over for all of them",
        "threads of a program that is right tell each other; one that races only there is not found",
    ),
    Limit(
        "order",
        "old NumPy views",
        "a NumPy view of a pinned buffer shows the bytes as the copy brings them",
        "the old contents until the host has waited; reading a view made before the copy is not reported",
        "NumPy's reads cannot be seen",
    ),
    Limit(
        "order",
        "races seldom seen",
        "every race may strike",
        "of thousands of operations on one piece of memory, queued without ever waiting, the oldest are "
        "forgotten",
        "memory is finite",
    ),
    Limit(
        "order",
        "columns of one matrix",
        "two streams may work on different columns of a matrix, or on every other element, at the same time",
        "so they may with PyTorch's operations; with kernels in numba or CUDA C++ it is reported as a race, "
        "and what one of them wrote may be lost",
        "of what such a kernel touches of an array, only where it begins and where it ends is kept",
    ),
    Limit(
        "order",
        "system-wide atomics",
        "`atomicAdd_system` and its kin hold against the host's threads too, while the kernel runs",
        "they are as `atomicAdd`: the host never meets a kernel that is still running",
        "a launch runs to its end before the next line of Python",
    ),
    Limit(
        "order",
        "memory of a captured graph",
        "the results in between share memory while a graph is captured",
        "each keeps memory of its own as long as the graph lives: `memory_allocated` shows more",
        "a replay writes where the capture did, and nothing else may lie there by then",
    ),
    # ------------------------------------------------------------------ time
    Limit(
        "time",
        "modelled times",
        "`elapsed_time` measures",
        "`elapsed_time`, `query` and `grader.timeline` read a model's clock: within a factor of 1.5 for what "
        "was measured on an H200, a guess for other GPUs",
        "no amount of software makes this machine a GPU; speed is never graded here",
    ),
    Limit(
        "time",
        "time.perf_counter",
        "shows how soon a launch returns",
        "shows how long this machine takes to compute the values",
        "work is done at once, when it is queued; `grader.timeline` shows when a GPU would have done it",
    ),
    Limit(
        "time",
        "torch.profiler",
        "shows kernels and copies",
        "shows what the host does only; `grader.timeline` shows the rest",
        "there are no kernels to look at",
    ),
    # ------------------------------------------------------------------ missing
    Limit(
        "missing",
        "one device",
        "a machine may have several GPUs, and they may reach each other's memory",
        "one GPU, cuda:0; no NCCL, no memory shared between processes",
        "the course uses one; a lesson names what several need",
    ),
    Limit(
        "missing",
        "libraries of kernels",
        "cuDNN, cuBLAS handles, CuPy, Triton",
        "PyTorch's own operations only; torch.compile writes C++ for this machine instead of Triton",
        "they are compiled for a GPU",
    ),
    Limit(
        "missing",
        "headers of the toolkit",
        "CUDA C++ may include cooperative_groups.h, cuda/atomic and CUDA's other headers",
        "cuda_fp16.h, cuda_bf16.h, math_constants.h and what needs no header (`__syncthreads`, "
        "`__shfl_sync` and so on); others are not found",
        "they are written for NVIDIA's compiler",
    ),
    Limit(
        "missing",
        "numba's assembly and caches",
        "`compile_ptx` and `inspect_asm` give PTX, `inspect_sass` machine code; `link=` adds code; "
        "`cache=True` keeps what was compiled",
        "the first two give LLVM code, `inspect_sass` raises; `link=` is not looked at, `cache=True` keeps "
        "nothing",
        "kernels are compiled for this machine, where there is nothing of the kind",
    ),
    Limit(
        "missing",
        "parts of torch.compile",
        "autocast, custom operators, copies from or to the host and inputs that share memory are compiled "
        "with the rest",
        "a graph with one of them runs uncompiled: the values are the same, the launches are more",
        "the host's compiler of PyTorch has other rules for them",
    ),
    Limit(
        "missing",
        "torch.compile with CUDA graphs",
        'with `mode="reduce-overhead"` the next call overwrites the results of the one before',
        "each call gives results of its own",
        "what is compiled here runs without a graph",
    ),
    Limit(
        "missing",
        "external events",
        "`torch.cuda.Event(external=True)`, recorded while a graph is captured, is recorded by each replay",
        "it is an event of the capture like any other: asking it for times raises",
        "a replay runs at once, as a whole",
    ),
    Limit(
        "missing",
        "a real GPU beside it",
        "a numba kernel runs on the GPU that is there",
        "a numba kernel that has run on the simulated GPU cannot run on a real one in the same process, nor "
        "the other way round",
        "numba keeps what it compiled for the first of the two",
    ),
    Limit(
        "missing",
        "memory that the machine lacks",
        "an operation that asks for too much raises OutOfMemoryError",
        "so do factories; another operation may end the process where the system promises memory it lacks",
        "its result is made by PyTorch on the host",
    ),
)
