"""Kernels & Streams: what a notebook of the course uses.

`import grader` decides, once, whether GPU code runs on a real GPU or on the simulated one, and says which in
a notebook. Then: `exercise(id)`, `predict(question, choices)`, `explore(kernel, x, name=(low, high))`,
`timeline(fn)`, `progress()`, `doctor()`, `limits()`, `pictures`.
"""

from __future__ import annotations

import gc
import importlib
import sys

_collecting = gc.isenabled()
gc.disable()  # or else a collection of all that PyTorch consists of falls into this import
from . import creation_notes, simgpu  # noqa: E402

__all__ = ["doctor", "exercise", "explore", "limits", "pictures", "predict", "progress", "simgpu", "timeline"]


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


creation_notes.install()
try:
    simgpu.activate()
except (ValueError, RuntimeError) as error:  # GRADER_GPU asks for what there is not
    if _in_a_notebook():
        raise
    print(f"grader: {error}", file=sys.stderr)
    raise SystemExit(2) from None
finally:
    if _collecting:
        gc.enable()

# Loaded when first used, so that importing the package stays quick.
_HOMES = {
    "exercise": "grader.learner",
    "progress": "grader.learner",
    "doctor": "grader.learner",
    "limits": "grader.learner",
    "predict": "grader.display",
    "explore": "grader.display.explore",
    "timeline": "grader.timelines",
}


def __getattr__(name: str):
    if name == "pictures":
        return importlib.import_module("grader.display.pictures")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grader' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])


if _in_a_notebook():
    print(simgpu.describe())
