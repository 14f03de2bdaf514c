"""Which numba.cuda the tests meet."""

import pytest

from grader import simgpu

simgpu.activate("sim")  # before numba.cuda is imported, so that the import hook is what is tested

import numba.cuda as cuda  # noqa: E402

NUMBA_CUDA = hasattr(cuda, "ldca")
needs_numba_cuda = pytest.mark.skipif(
    not NUMBA_CUDA,
    reason="the package numba-cuda is not installed; numba's built-in target words this otherwise",
)
