"""Builds the simulated GPU's own libraries ahead: `python -m grader.simgpu.native`. Set-up does this once."""

from __future__ import annotations

import sys

from grader.simgpu.native import libraries


def main() -> int:
    """Never fails: without a compiler the rest of the course works, and a kernel that needs one says so."""
    try:
        libraries.build_all()
    except Exception as error:
        print(f"The simulated GPU's libraries are not built: {str(error).splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
