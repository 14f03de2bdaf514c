"""All benchmarks; exit code 1 if a target is missed."""

import sys

from . import (
    bench_cuda_cpp,
    bench_jiterator,
    bench_model,
    bench_numba,
    bench_races,
    bench_streams,
    bench_tensors,
)

_ALL = (bench_jiterator, bench_tensors, bench_numba, bench_cuda_cpp, bench_streams, bench_races, bench_model)

sys.exit(max([bench.main() for bench in _ALL]))
