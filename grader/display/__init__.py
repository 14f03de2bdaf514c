"""How everything looks: cards, verdicts, tables and pictures, each also in plain text with the same content.

It renders what it is handed and decides nothing. Pictures are in `grader.display.pictures`.
"""

from grader.display.cards import card, hint, note, solution
from grader.display.predict import predict
from grader.display.rendered import Rendered, print_in_scripts, say
from grader.display.tables import doctor, limits, progress
from grader.display.verdicts import verdict

__all__ = [
    "Rendered",
    "card",
    "doctor",
    "hint",
    "limits",
    "note",
    "predict",
    "print_in_scripts",
    "progress",
    "say",
    "solution",
    "verdict",
]
