"""Small programs with numba's built-in CUDA target: `python -m tests.simgpu_numba.builtin_target` prints what
each came to, as JSON. Where the package numba-cuda is installed it stands in for that target; not here.
"""

import json
import sys
import warnings

sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != "_numba_cuda_redirector"]

import torch  # noqa: E402

from grader import simgpu  # noqa: E402

simgpu.activate("sim")

from numba import cuda, float32  # noqa: E402

from grader.simgpu import order  # noqa: E402

warnings.simplefilter("ignore")


def floats(*shape):
    return torch.arange(float(torch.Size(shape).numel()), device="cuda").reshape(shape)


def elementwise():
    @cuda.jit
    def axpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += a * x[i]

    x, y = floats(10), torch.ones(10, device="cuda")
    axpy[3, 4](2.0, x, y)
    return y.tolist()


def sums_of_blocks():
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(8, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        tile[t] = x[i] if i < x.size else 0.0
        cuda.syncthreads()
        half = 4
        while half:
            if t < half:
                tile[t] += tile[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[cuda.blockIdx.x] = tile[0]

    x, out = floats(20), torch.zeros(3, device="cuda")
    kernel[3, 8](x, out)
    return out.tolist()


def atomics():
    @cuda.jit
    def histogram(x, counts):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(counts, int(x[i]) % 3, 1)

    counts = torch.zeros(3, dtype=torch.int32, device="cuda")
    histogram[4, 8](floats(32), counts)
    return counts.tolist()


def two_dimensions():
    @cuda.jit
    def transpose(x, y):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[j, i] = x[i, j]

    x, y = floats(3, 5), torch.zeros(5, 3, device="cuda")
    transpose[(2, 2), (2, 4)](x, y)
    return torch.equal(y, x.t())


def arrays_of_numba():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    array = cuda.to_device([1.0, 2.0, 3.0])
    double[1, 4](array)
    return array.copy_to_host().tolist()


def out_of_bounds():
    @cuda.jit
    def shift(x, y):
        i = cuda.grid(1)
        y[i] = x[i + 1]

    try:
        shift[1, 4](floats(4), torch.zeros(4, device="cuda"))
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error)
    return None


def a_race():
    @cuda.jit
    def count(total):
        total[0] += 1

    with order.collect() as found:
        count[1, 32](torch.zeros(1, device="cuda"))
    return [finding.kind for finding in found]


PROGRAMS = (elementwise, sums_of_blocks, atomics, two_dimensions, arrays_of_numba, out_of_bounds, a_race)

if __name__ == "__main__":
    outcomes = {program.__name__: program() for program in PROGRAMS}
    print(json.dumps({"package": cuda.__file__, **outcomes}))
