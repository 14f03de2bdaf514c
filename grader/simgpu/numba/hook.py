"""Tells when numba.cuda is imported: numba takes a second to import, and only those who use it wait for
it.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_NAME = "numba.cuda"


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls `then()` when numba.cuda has been imported, whoever provides it."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._looking = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name != _NAME or self._looking:
            return None
        self._looking = True
        try:
            finders = (f for f in sys.meta_path if f is not self)
            spec = next((s for f in finders if (s := f.find_spec(name, path, target)) is not None), None)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                self._then()

        loader.exec_module = exec_module
