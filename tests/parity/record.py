"""Record the outcomes of the programs on a real GPU: `python -m tests.parity.record [--all]`.

Records the programs that h200.json lacks (or all of them) and names those whose `recorded=False` may go.
"""

from __future__ import annotations

import os
import sys

os.environ["GRADER_GPU"] = "real"

from . import harness  # after the choice is made


def main() -> None:
    outcomes = harness.recordings()
    programs = harness.load_programs()
    for name in [n for n in programs if "--all" in sys.argv or n not in outcomes]:
        outcomes[name] = harness.outcome(programs[name])
        print(name, "" if programs[name].recorded else "  (take recorded=False off it)")
    harness.write_recordings(outcomes)


if __name__ == "__main__":
    main()
