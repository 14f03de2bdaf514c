"""The IPython shell in which a hand-in's cells run, and its errors in few words."""

import traceback

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


class HandinShell(InteractiveShell):
    """IPython without a front end: `%matplotlib inline` and friends work and show nothing."""

    def enable_gui(self, gui=None):
        """There is no event loop to join."""


def start() -> InteractiveShell:
    """A shell that keeps no history on disk and prints without colours."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HandinShell.colors = "nocolor"
    return HandinShell.instance(config=config)


def describe_error(error: BaseException) -> str:
    """The last line of the learner's own code that led to `error`, then the exception: two or three lines
    of text.
    """
    lines = []
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("<ipython-input")]
    if own:
        lines.append(f"line {own[-1].lineno}: {(own[-1].line or '').strip()}")
    elif isinstance(error, SyntaxError) and error.lineno:
        lines.append(f"line {error.lineno}: {(error.text or '').strip()}")
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:  # an exception class of the hand-in's whose __str__ fails
        message = ""
    lines.append(f"{type(error).__name__}: {message}".rstrip(": "))
    return "\n".join(lines)[:1000]
