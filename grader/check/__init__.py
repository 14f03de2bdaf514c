"""Correctness: make cases, call the learner's function, compare, and say in a Verdict what happened.

check(exercise, candidate) is all that other rooms need; jit_source reads a learner's kernel text.
"""

from __future__ import annotations

from . import jit_source
from .runner import check
from .verdict import Reason, Speed, Values, Verdict

__all__ = ["Reason", "Speed", "Values", "Verdict", "check", "jit_source"]
