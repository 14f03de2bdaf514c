"""A kernel whose text jiterator cannot read: its exception also says which rule is broken, at creation."""

from __future__ import annotations

import functools

from torch.cuda.jiterator import _JittedFunction

from . import tracebacks


def install() -> None:
    """From now on the exception of a failed _create_jit_fn ends with a note. Once is enough.

    Type and message stay PyTorch's, on a real GPU as on the simulated one.
    """
    init = _JittedFunction.__init__
    if getattr(init, "_adds_notes", False):
        return

    @functools.wraps(init)
    def noted(self, code_string, *args, **kwargs):
        try:
            init(self, code_string, *args, **kwargs)
        except Exception as error:
            if rule := _broken_rule(code_string):
                error.add_note(f"\n{rule[0].upper()}{rule[1:]}")
                tracebacks.of_their_lines(error)
            raise

    noted._adds_notes = True
    _JittedFunction.__init__ = noted


def _broken_rule(code: object) -> str | None:
    from grader.check import jit_source  # not before it is needed: `import grader` stays quick

    return jit_source.explain(code)
