"""What a check says. Fields only: how a verdict looks is decided where it is shown."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum


class Values(StrEnum):
    """Whether the answer computes the right thing."""

    NOT_ATTEMPTED = "NOT_ATTEMPTED"
    ERROR = "ERROR"
    WRONG = "WRONG"
    UNSAFE = "UNSAFE"
    PASS = "PASS"


class Speed(StrEnum):
    """Whether it is fast enough; NOT_TIMED never fails a check."""

    FAST = "FAST"
    SLOW = "SLOW"
    INCONCLUSIVE = "INCONCLUSIVE"
    NOT_TIMED = "NOT_TIMED"


class Reason(StrEnum):
    """Why an answer did not pass, one word for machines."""

    NOT_ATTEMPTED = "not_attempted"
    NOT_CALLABLE = "not_callable"
    PARSE = "parse"
    COMPILE = "compile"
    RAISED = "raised"
    NOT_A_TENSOR = "not_a_tensor"
    NOT_A_LIST = "not_a_list"
    DEVICE = "device"
    DTYPE = "dtype"
    SHAPE = "shape"
    RACE = "race"
    DIVERGENT_BARRIER = "divergent_barrier"
    WARP = "warp"
    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED = "misaligned"
    HOST_MEMORY = "host_memory"
    INPUT_CHANGED = "input_changed"
    ALIASED = "aliased"
    UNWRITTEN = "unwritten"
    NAN_MASK = "nan_mask"
    VALUE = "value"
    TAIL = "tail"
    STRIDED = "strided"
    BROADCAST = "broadcast"
    PRECISION = "precision"
    DEFAULT = "default"
    REMEMBERED = "remembered"
    FORBIDDEN_FALLBACK = "forbidden_fallback"
    NOT_ON_GPU = "not_on_gpu"
    TOO_MANY_LAUNCHES = "too_many_launches"
    TOO_MUCH_TRAFFIC = "too_much_traffic"
    RECOMPILED = "recompiled"
    CREATED_IN_CALL = "created_in_call"


UNSAFE_REASONS = frozenset(
    {
        *(Reason.RACE, Reason.DIVERGENT_BARRIER, Reason.WARP),
        *(Reason.OUT_OF_BOUNDS, Reason.MISALIGNED, Reason.HOST_MEMORY),
        *(Reason.INPUT_CHANGED, Reason.ALIASED),
    }
)
ERROR_REASONS = frozenset({Reason.NOT_CALLABLE, Reason.PARSE, Reason.COMPILE, Reason.RAISED})


def values_of(reason: Reason) -> Values:
    """The values verdict that goes with a reason."""
    if reason is Reason.NOT_ATTEMPTED:
        return Values.NOT_ATTEMPTED
    if reason in ERROR_REASONS:
        return Values.ERROR
    return Values.UNSAFE if reason in UNSAFE_REASONS else Values.WRONG


@dataclass(frozen=True)
class Told:
    """The parts of a verdict that say what is wrong: lines (theirs), and what to think about next."""

    reason: Reason
    headline: str
    lines: tuple[str, ...]
    explanation: str


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check.

    headline     the smallest failing call, or what passed
    lines        expected, got, first bad index; for a pass, what was counted
    explanation  what such a pattern usually means, and the next thing to think about
    warnings     remarks that never change the verdict
    counts       counted on the simulated GPU: launches and passes of a call, compiles and creates of the
    check
    families     for each case family: cases passed, cases in all
    seed         reproduces the inputs: check(exercise, candidate, seed=...)
    gpu          "real" or "simulated": where the verdict was reached
    """

    exercise: str
    values: Values
    reason: Reason | None = None
    speed: Speed = Speed.NOT_TIMED
    headline: str = ""
    lines: tuple[str, ...] = ()
    explanation: str = ""
    warnings: tuple[str, ...] = ()
    counts: dict[str, float] = field(default_factory=dict)
    families: dict[str, tuple[int, int]] = field(default_factory=dict)
    seed: int = 0
    gpu: str = "simulated"

    @property
    def passed(self) -> bool:
        return self.values is Values.PASS and self.speed is not Speed.SLOW

    def to_json(self) -> dict:
        """A dict of JSON types; `from_json` gives the verdict back."""
        record = dataclasses.asdict(self)
        record["values"], record["speed"] = self.values.value, self.speed.value
        record["reason"] = self.reason.value if self.reason else None
        record["lines"], record["warnings"] = list(self.lines), list(self.warnings)
        record["families"] = {name: list(pair) for name, pair in self.families.items()}
        return record

    @classmethod
    def from_json(cls, record: dict) -> Verdict:
        """The verdict that `to_json` wrote. Raises ValueError or TypeError if `record` is none."""
        record = dict(record)
        reason = record.get("reason")
        record["values"], record["speed"] = Values(record["values"]), Speed(record["speed"])
        record["reason"] = Reason(reason) if reason else None
        record["lines"], record["warnings"] = tuple(record["lines"]), tuple(record["warnings"])
        record["families"] = {name: (pair[0], pair[1]) for name, pair in record["families"].items()}
        return cls(**record)
