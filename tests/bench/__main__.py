"""All benchmarks; exit code 1 if a target is missed."""

import sys

from . import bench_jiterator, bench_tensors

sys.exit(max(bench_jiterator.main(), bench_tensors.main()))
