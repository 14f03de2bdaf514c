"""A document as HTML that reads well on light and dark pages.

Only inline styles: JupyterLab, VS Code, Colab and nbconvert share no style sheet. Text takes the page's
own colour; tints are translucent; only the badge brings its own pair of colours. Where a viewer strips
styles, the plain elements still read in order.
"""

import re
from dataclasses import dataclass
from html import escape

from grader.display.document import Block, Document, Fields, Head, Mono, Prose, Table, Tone
from grader.display.text_form import printable


@dataclass(frozen=True)
class _Look:
    icon: str
    edge: str  # shows at 3:1 or better on both white and near-black
    badge: str  # carries white text at 4.5:1 or better


_LOOKS = {
    Tone.CARD: _Look("◆", "#2f86c1", "#00588a"),
    Tone.GOOD: _Look("✓", "#0a9b73", "#00664b"),
    Tone.WRONG: _Look("✗", "#d55e00", "#a14600"),
    Tone.DANGER: _Look("⚠", "#c0609a", "#8a3a6b"),
    Tone.TROUBLE: _Look("!", "#a88014", "#735400"),
    Tone.OPEN: _Look("○", "#7a7f87", "#50555c"),
}
_CODE_FONT = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace)"
_BREAK = "overflow-wrap:anywhere"
_QUIET = "opacity:.8"  # still 4.5:1 on the usual page colours
_TABLE = "border-collapse:collapse;border:none;margin:6px 0 0;font-size:1em;table-layout:auto"
_LINE = "rgba(128,128,128,.3)"
_CELL = "text-align:left;vertical-align:top;border:none;background:transparent;color:inherit;line-height:1.5"


def html_of(document: Document) -> str:
    """Return one `<div>`; every string is escaped, so a learner's text can never become markup."""
    look = _LOOKS[document.tone]
    style = (
        f"border-left:4px solid {look.edge};background:rgba(128,128,128,.08);color:inherit;padding:8px 14px;"
        f"margin:4px 0;max-width:62em;box-sizing:border-box;line-height:1.5;{_BREAK}"
    )
    body = "".join(_block(block, look) for block in document.blocks)
    return f'<div role="group" aria-label="{_safe(document.label)}" style="{style}">{body}</div>'


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)


def _prose(text: str) -> str:
    """Escape, and set what stands between `backticks` as code."""
    code = rf'<code style="{_CODE_FONT};background:transparent;color:inherit;padding:0;{_BREAK}">\1</code>'
    return re.sub(r"`([^`\n]+)`", code, _safe(text)).replace("\n", "<br>")


def _block(block: Block, look: _Look) -> str:
    match block:
        case Head():
            return _head(block, look)
        case Prose(text, quiet):
            return f'<div style="margin:4px 0 0;{_QUIET if quiet else ""}">{_prose(text)}</div>'
        case Mono(lines):
            style = (
                f"{_CODE_FONT};font-size:.95em;line-height:1.45;margin:6px 0 0;padding:6px 8px;color:inherit;"
                f"background:rgba(128,128,128,.1);border:none;white-space:pre-wrap;{_BREAK}"
            )
            text = _safe("\n".join(lines))
            return f'<pre style="{style}">{text}</pre>'
        case Fields(rows):
            return _fields(rows)
        case Table():
            return _table(block)


def _head(head: Head, look: _Look) -> str:
    row = "display:flex;flex-wrap:wrap;align-items:baseline;column-gap:14px;row-gap:2px"
    font = f"{_CODE_FONT};" if head.title_is_code else ""
    icon = f'<span aria-hidden="true">{look.icon}&nbsp;</span>'
    parts = []
    if head.badge:
        style = f"background:{look.badge};color:#ffffff;border-radius:3px;padding:1px 8px;font-weight:600"
        parts.append(f'<span style="{style}">{icon}{_safe(head.badge)}</span>')
        icon = ""
    style = f"{font}min-width:0;color:inherit;{_BREAK}"
    parts.append(f'<strong style="{style}">{icon}{_prose(head.title)}</strong>')
    parts += [f'<span style="min-width:0;{_BREAK}">{_prose(fact)}</span>' for fact in head.facts if fact]
    if head.aside:
        parts.append(f'<span style="margin-left:auto;{_QUIET}">{_safe(head.aside)}</span>')
    return f'<div style="{row}">{" ".join(parts)}</div>'


def _fields(rows: tuple[tuple[str, str], ...]) -> str:
    name = f"{_CELL};font-weight:400;{_QUIET};padding:1px 16px 1px 0;white-space:nowrap"
    cells = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{name}">{_safe(key)}</th>'
        f' <td style="{_CELL};padding:1px 0;{_BREAK}">{_prose(value)}</td></tr>'
        for key, value in rows
    )
    return f'<table style="{_TABLE}">{cells}</table>'


def _table(table: Table) -> str:
    """Words stay whole in all columns but the last, which takes what room is left and may break them."""
    cell = f"{_CELL};padding:2px 18px 2px 0"
    last = [False] * (len(table.columns) - 1) + [True]
    heads = (f'<th scope="col" style="{cell};font-weight:600">{_safe(name)}</th>' for name in table.columns)
    lines = []
    for row, tone in zip(table.rows, table.tones, strict=True):
        style = f"{cell};font-weight:{600 if tone is None else 400}"
        shown = [_prose(text) for text in row]
        shown[0] = _mark(tone) + shown[0]
        cells = (
            f'<td style="{style};{_BREAK if is_last else "overflow-wrap:normal"}">{text}</td>'
            for text, is_last in zip(shown, last, strict=True)
        )
        lines.append(
            f'<tr style="background:transparent;border-top:1px solid {_LINE}">{" ".join(cells)}</tr>'
        )
    head = f"<thead><tr>{' '.join(heads)}</tr></thead>"
    return f'<table style="{_TABLE};width:100%">{head}<tbody>{"".join(lines)}</tbody></table>'


def _mark(tone: Tone | None) -> str:
    if tone is None:
        return ""
    style = f"color:{_LOOKS[tone].edge};font-weight:700"
    return f'<span aria-hidden="true" style="{style}">{_LOOKS[tone].icon}&nbsp;</span>'
