"""Record the outcomes of the programs on a real GPU: `make record-parity [ARGS="--all"]`.

Records the programs that h200.json lacks, or all of them, or those of the named groups (ARGS="races
compile"), and says of each whether it gives what was expected. A program that gives two outcomes in two
runs is not recorded.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import subprocess
import sys

import torch

from grader import simgpu

from . import harness, recordings


def main(arguments: list[str]) -> None:
    simgpu.activate()
    if simgpu.is_simulated() or not torch.cuda.is_available():
        sys.exit("Recordings are made on a real GPU, and there is none here (or GRADER_GPU=sim hides it).")
    if importlib.util.find_spec("numba_cuda") is None:
        sys.exit("The recordings hold numba-cuda's words: pip install -e '.[gpu]' first.")
    have, on = recordings.outcomes(), machine()
    programs = harness.load_programs()
    groups = [a for a in arguments if a != "--all"]
    for name in sorted(programs):
        if name.split("/")[0] in groups or (not groups and ("--all" in arguments or name not in have)):
            record(programs[name], on)
    print("Take recorded=False off what is recorded now.")


def record(program: harness.Program, on: dict[str, str]) -> None:
    """Run `program` twice; its outcome goes to the file if both gave it and the GPU is well afterwards."""
    first, second = harness.outcome(program), harness.outcome(program)
    if not _healthy():
        sys.exit(f"{program.name} left the GPU broken and is not recorded: register it with alone=True.")
    if difference := harness.differ(first, second):
        print(program.name, "NOT RECORDED, it gives another outcome each time:", difference)
        return
    recordings.add(on, {program.name: first})
    surprise = None if program.expect is harness.UNSURE else harness.differ(program.expect, first)
    print(program.name, f"UNEXPECTED, expected / recorded: {surprise}" if surprise else "", flush=True)


def _healthy() -> bool:
    try:
        torch.cuda.synchronize()
        return (torch.ones(1, device="cuda") + 1).item() == 2
    except RuntimeError:
        return False


def machine() -> dict[str, str]:
    """What a recording depends on: GPU, driver, versions, date."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip(),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba", "numba-cuda")},
        "date": datetime.date.today().isoformat(),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
