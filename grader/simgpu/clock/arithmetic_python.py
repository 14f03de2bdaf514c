"""How much each thread of a numba kernel computes, read off its Python source: see `arithmetic`."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
from collections.abc import Callable
from typing import Any

from grader.simgpu.clock.arithmetic import DIVISION, FUNCTIONS, UNKNOWN_ROUNDS

_DEEPEST = 8  # functions that call one another


@functools.lru_cache(maxsize=512)
def multiply_adds_of(function: Callable) -> float:
    """Return about how many multiply-adds one thread of a kernel takes; 0 where its source is not known.

    A loop over range() has as many rounds as its bounds say, where these are numbers or variables that the
    function sees from outside; else a few.
    """
    return _of(function, 0)


def _of(function: Callable, depth: int) -> float:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        seen = inspect.getclosurevars(function)
    except (OSError, TypeError, SyntaxError, ValueError):
        return 0.0
    definition = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)), None)
    if definition is None:
        return 0.0
    counter = _Counter({**seen.builtins, **seen.globals, **seen.nonlocals}, depth)
    body = definition.body if isinstance(definition.body, list) else [definition.body]
    return sum(map(counter.count, body))


class _Counter:
    """Counts in syntax trees. names: what names mean outside of the function."""

    def __init__(self, names: dict[str, Any], depth: int):
        self._names, self._depth = names, depth

    def count(self, node: ast.AST) -> float:
        if isinstance(node, ast.For | ast.While):
            rounds = self._rounds(node.iter) if isinstance(node, ast.For) else UNKNOWN_ROUNDS
            return rounds * sum(map(self.count, node.body))
        inside = sum(map(self.count, ast.iter_child_nodes(node)))
        if isinstance(node, ast.BinOp | ast.AugAssign):
            return inside + self._operation(node)
        return inside + self._call(node) if isinstance(node, ast.Call) else inside

    @staticmethod
    def _operation(node: ast.BinOp | ast.AugAssign) -> float:
        if isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            return DIVISION
        if isinstance(node.op, ast.Pow):
            return FUNCTIONS["pow"]
        operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        product = any(isinstance(o, ast.BinOp) and isinstance(o.op, ast.Mult) for o in operands)
        return 0.0 if product and isinstance(node.op, ast.Add | ast.Sub) else 1.0  # fused with the product

    def _call(self, node: ast.Call) -> float:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        device_function = getattr(self._names.get(name), "py_func", None)
        if device_function is not None and self._depth < _DEEPEST:
            return _of(device_function, self._depth + 1)
        return FUNCTIONS.get(name, 0.0)

    def _rounds(self, over: ast.expr) -> float:
        if not (isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range"):
            return UNKNOWN_ROUNDS
        bounds = [self._number(a) for a in over.args]
        if not bounds or None in bounds:
            return UNKNOWN_ROUNDS
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        return max(math.ceil((stop - start) / step), 0) if step else UNKNOWN_ROUNDS

    def _number(self, node: ast.expr) -> int | None:
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = self._names.get(node.id) if isinstance(node, ast.Name) else None
        return value if isinstance(value, int) else None
