"""A document as plain text, at most 100 columns wide where the words allow it."""

import textwrap

from grader.display.document import Block, Document, Fields, Head, Mono, Prose, Table

WIDTH = 100
_ASIDE_ENDS = 76  # where the right end of a first line stands, near enough to be read with its left end


def text_of(document: Document) -> str:
    """Return the plain-text form; no trailing newline, no escape sequences."""
    return "\n".join(line.rstrip() for block in document.blocks for line in _lines(block))


def printable(text: str) -> str:
    """Keep tabs and newlines; show other control characters (a learner's escape codes, say) as `\\x1b`."""
    return "".join(c if c in "\t\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _lines(block: Block) -> list[str]:
    match block:
        case Head():
            return _head(block)
        case Prose(text):
            return _wrap(text)
        case Mono(lines):
            return [part for line in lines for part in printable(line).split("\n")]
        case Fields(rows):
            width = max(len(name) for name, _ in rows) + 3
            return [line for name, value in rows for line in _wrap(value, name.ljust(width))]
        case Table(columns, rows):
            return _table((columns, *rows))


def _head(head: Head) -> list[str]:
    left = printable("   ".join(part for part in (head.badge, head.title, *head.facts) if part))
    if not head.aside:
        return _wrap(left, hang=4)
    if len(left) + 3 + len(head.aside) > _ASIDE_ENDS:
        return [*_wrap(left, hang=4), *_wrap(head.aside, " " * 4)]
    return [left + head.aside.rjust(_ASIDE_ENDS - len(left))]


def _wrap(text: str, first: str = "", hang: int | None = None) -> list[str]:
    """Wrap each paragraph line; the following lines start under the end of `first`, or `hang` columns in."""
    indent = " " * (len(first) if hang is None else hang)
    lines = []
    for paragraph in printable(text).split("\n"):
        start = first if not lines else indent
        lines += textwrap.wrap(
            paragraph,
            WIDTH,
            initial_indent=start,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
            drop_whitespace=True,
        ) or [start]
    return lines


def _table(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        start = "".join(cell.ljust(width + 3) for cell, width in zip(row, widths, strict=False))
        lines += _wrap(row[-1], start)
    return lines
