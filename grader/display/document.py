"""What a message says, before it becomes plain text or HTML.

Every card, verdict and table is first built from these few blocks, and both forms are made from them: what a
terminal, a screen reader or a test reads is what the notebook shows.
In prose and titles, `backticks` mark code.
"""

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """What a message feels like. Shown by icon and colour, never by these alone: the words say it too."""

    CARD = "card"
    GOOD = "good"
    WRONG = "wrong"
    DANGER = "danger"
    TROUBLE = "trouble"
    OPEN = "open"


@dataclass(frozen=True)
class Head:
    """The first line: a badge such as PASS, or ''; what it is about; facts; what stands at its right."""

    badge: str
    title: str
    facts: tuple[str, ...] = ()
    aside: str = ""
    title_is_code: bool = False


@dataclass(frozen=True)
class Prose:
    """Sentences, wrapped to the width at hand."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Mono:
    """Lines of code or values, kept as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Fields:
    """Named values, one a row. A value wraps under itself."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under column names. A row's tone gives the icon before its first cell; None: it heads a group."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone | None, ...]


Block = Head | Prose | Mono | Fields | Table


@dataclass(frozen=True)
class Document:
    """Blocks in order. `label` names the whole for screen readers."""

    label: str
    tone: Tone
    blocks: tuple[Block, ...]
