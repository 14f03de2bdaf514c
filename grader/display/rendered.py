"""A message in its two forms, and how it reaches the learner."""

import sys
from dataclasses import dataclass

from grader.display.document import Document
from grader.display.html_form import html_of
from grader.display.text_form import text_of


@dataclass(frozen=True, repr=False)
class Rendered:
    """One message as plain text and as HTML with the same words. Shows itself at the end of a cell."""

    text: str
    html: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


def render(document: Document) -> Rendered:
    """Return both forms of `document`. The same document always gives the same bytes."""
    return Rendered(text_of(document), html_of(document))


def shows_results() -> bool:
    """Whether a notebook, IPython or the Python prompt is there to show the value of an expression."""
    ipython = sys.modules.get("IPython")
    return hasattr(sys, "ps1") or (ipython is not None and ipython.get_ipython() is not None)


def print_in_scripts(message: object) -> None:
    """Print `message` where nothing else would show it: in a plain Python script."""
    if not shows_results():
        say(str(message))


def say(text: str) -> None:
    """Print a line; where a terminal lacks a character it shows `?`, which beats stopping the learner."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))
