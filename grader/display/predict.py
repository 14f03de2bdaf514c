"""A question to answer for oneself before running the next cell."""

import hashlib
from collections.abc import Sequence
from html import escape

from grader.display.rendered import Rendered, print_in_scripts
from grader.display.text_form import printable

_BOX = (
    "border-left:4px solid #2f86c1;background:rgba(128,128,128,.08);color:inherit;padding:8px 14px;"
    "margin:4px 0;max-width:62em;box-sizing:border-box;overflow-wrap:anywhere"
)
_CHOICE = "margin:3px 0;padding:3px 8px;border:1px solid rgba(128,128,128,.45);border-radius:4px"
_CHOSEN = "margin:4px 0 2px 1.2em"
_NEXT = "Choose one before you run the next cell."


def predict(question: str, choices: Sequence[str]) -> Rendered:
    """Ask for a guess; nothing is graded or kept.

    In a notebook each choice opens to `You chose ...`. There is no widget behind it, so that it needs no
    running kernel and a saved notebook still reads well. Elsewhere the choices are listed. Raises
    ValueError unless there are at least two choices, all different.
    """
    if isinstance(choices, str) or len(choices) < 2 or len(set(choices)) < len(choices):
        raise ValueError(f"predict() needs a list of at least two different choices, got {choices!r}")
    question, choices = printable(question), [printable(choice) for choice in choices]
    listed = "\n".join(f"  {i}. {choice}" for i, choice in enumerate(choices, 1))
    shown = Rendered(f"Predict: {question}\n{listed}\n{_NEXT}", _html(question, choices))
    print_in_scripts(shown)
    return shown


def _html(question: str, choices: list[str]) -> str:
    # One name for all choices of a question: a browser then keeps only the last one clicked open.
    group = "predict-" + hashlib.sha256("\n".join([question, *choices]).encode()).hexdigest()[:12]
    rows = "".join(
        f'<details name="{group}" style="{_CHOICE}"><summary style="cursor:pointer">{i}. {choice}</summary>'
        f'<div style="{_CHOSEN}">You chose <strong>{choice}</strong>. Now run the next cell.</div></details>'
        for i, choice in enumerate(map(escape, choices), 1)
    )
    return (
        f'<div role="group" aria-label="Predict" style="{_BOX}">'
        f'<div style="margin:0 0 6px"><strong>Predict:</strong> {escape(question)}</div>{rows}'
        f'<div style="margin:6px 0 0;opacity:.8">{_NEXT}</div></div>'
    )
