"""What goes into a sandbox and what comes out of it: plain data, no behaviour."""

from dataclasses import dataclass, field
from enum import StrEnum

GIB = 2**30


class Status(StrEnum):
    """How a hand-in ended; apart from its score. INFRASTRUCTURE is our failure, every other is the
    hand-in's own.
    """

    GRADED = "graded"
    PARTLY_GRADED = "partly_graded"  # some exercise could not be judged; the others are
    CORRUPT = "corrupt"
    EMPTY = "empty"
    MISSING_CELL = "missing_cell"  # an answer cell is gone; the others are graded
    DIED = "died"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_FLOOD = "output_flood"
    NEEDS_INPUT = "needs_input"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True)
class Cell:
    """One code cell to run. `index` is its position in the notebook, `exercise` the id it answers (None:
    not an answer).
    """

    index: int
    source: str
    exercise: str | None = None


@dataclass(frozen=True)
class Job:
    """The cells of one hand-in, in notebook order, and its limits.

    `timeout`: wall-clock seconds for the whole hand-in, start of the process included. `memory`: bytes of
    resident memory, summed over the process and its children. `flood`: bytes of output after which the
    hand-in is stopped. `threads`: CPU threads that torch may use.
    """

    cells: tuple[Cell, ...]
    timeout: float = 300.0
    memory: int = 4 * GIB
    flood: int = 256 * 2**20
    threads: int = 1


@dataclass(frozen=True)
class Reported:
    """One verdict as it came out of the sandbox: `verdict` is Verdict.to_json(), `seconds` by the
    supervisor's clock.
    """

    cell: int
    exercise: str
    verdict: dict
    seconds: float


@dataclass
class Outcome:
    """What happened to one job. Verdicts reported before a death, a timeout, ... are kept.

    `note`: one sentence for the instructor, empty when all went well. `errors`: exceptions raised by cells,
    shortened, by cell index. `unjudged`: exercises whose check failed through our own fault. `suspect`: what
    a hand-in that plays with the result channel left behind. `output`: the start of what the hand-in printed.
    `made_with`: versions and GPU.
    """

    status: Status
    note: str = ""
    verdicts: list[Reported] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)
    suspect: list[str] = field(default_factory=list)
    output: str = ""
    seconds: float = 0.0
    peak_memory: int = 0
    made_with: dict = field(default_factory=dict)
