"""One program in its own process: `python -m tests.parity.alone NAME` prints the outcome as JSON."""

from __future__ import annotations

import json
import os
import sys

from grader import simgpu

from . import harness


def main(name: str) -> None:
    simgpu.activate()
    print(json.dumps(harness.run_here(harness.load_programs()[name])), flush=True)
    os._exit(0)  # a broken CUDA context may not survive an orderly end


if __name__ == "__main__":
    main(sys.argv[1])
