"""numba kernels on the simulated GPU against numba's own simulator: `python -m tests.bench.bench_numba`.

NUMBA_ENABLE_CUDASIM=1 chooses numba's simulator before numba is imported, so it has a process of its own. It
starts a Python thread for each thread of the grid, and takes some hundred microseconds for each, however many
there are. So it runs over a few thousand threads, and over twice as many, and what those take is scaled; the
growth is shown. Both sides are timed by processor time, which is the less for it: it leaves out waiting.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from grader import simgpu

from .measure import Table

N, FEWER, MORE = 100_000, 5_000, 10_000
ROUNDS = 30
PROGRAM = "tests.bench.numba_program"


def main() -> int:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", PROGRAM, str(FEWER), str(MORE)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    fewer, more = json.loads(done.stdout)
    simgpu.activate("sim")
    from .numba_program import seconds  # imports numba, which must find the simulated GPU

    ours = seconds(N, ROUNDS)
    table = Table(f"numba kernels, {N:,} threads, race tracking on")
    for name, most, at_least in (("add", 1.2, 10_000), ("block sum", 40, 1_000)):
        first, best = ours[name]
        theirs, growth = more[name][1], more[name][1] / fewer[name][1]
        scaled = theirs * N / MORE
        table.row(f"{name}: compile and first launch", first, "s", 2)
        table.row(f"{name}: a launch", best * 1e3, "ms", most)
        table.row(f"{name}: numba's, {MORE:,} threads over {FEWER:,}", growth, "x", 1.8, lower=True)
        what = f"{name}: numba's over it ({scaled:.1f} s, from {MORE:,} threads)"
        table.row(what, scaled / best, "x", at_least, lower=True)
    return 0 if table.all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
