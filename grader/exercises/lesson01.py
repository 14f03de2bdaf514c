"""Lesson 01, a first JIT kernel: four exercises on torch.cuda.jiterator."""

from __future__ import annotations

import numpy as np
import torch

from . import families as fam
from .draw import Draw
from .model import Case, Exercise, Expected, Family, Limits, Variant
from .wide import wide

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
ADDABLE = (*FLOATS, torch.complex64, torch.int32, torch.int64, torch.uint8, torch.bool)
MAIN = (torch.float32, torch.int64)
TWO_FLOATS = (torch.float32, torch.float64)


def _inputs(case: Case) -> list[np.ndarray]:
    return [wide(arg, case.dtype) for arg in case.args]


# jit-add


def _sum(case: Case) -> Expected:
    x, y = _inputs(case)
    exact = not (case.dtype.is_floating_point or case.dtype.is_complex)
    return Expected(x + y, None if exact else np.abs(x) + np.abs(y))


def _mixed(draw: Draw):
    yield Case((draw.values(7, torch.int32), draw.values(7, torch.float32)), {}, torch.float32,
               "x is int32 and y float32: the common type is float32")


def _add_variant(says, combine):
    return Variant(says, lambda case: combine(*_inputs(case)))


_ADD = Exercise(
    id="jit-add",
    lesson=1,
    title="Your first kernel",
    task="Write a jiterator kernel `add` that returns the sum of two tensors. "
    "It must work for every type below and for inputs that broadcast against each other.",
    signature="add(x, y) -> tensor of the common shape and dtype",
    dtypes=ADDABLE,
    promised="float16, bfloat16, float32, float64, complex64, int32, int64, uint8, bool (where + means or); "
    "any shapes that broadcast, any strides",
    families=(
        fam.small(2, ADDABLE),
        fam.every_dtype(2, ADDABLE),
        fam.sizes(2, MAIN),
        fam.special(2, FLOATS),
        fam.views(2, MAIN),
        fam.broadcasting(MAIN),
        Family("mixed", _mixed),
        fam.renewed(2, torch.float32),
        fam.large(2, torch.float32),
    ),
    oracle=_sum,
    tolerance=2.0,
    limits=Limits(passes=3, launches=1),
    kind="jiterator",
    torch_ops_allowed=False,
    variants=(
        _add_variant("You subtract y.", lambda x, y: x ^ y if x.dtype == bool else x - y),
        _add_variant("You multiply x and y.", lambda x, y: x * y),
        _add_variant("You add x to itself; y is not used.", lambda x, y: x + x + np.zeros_like(y)),
        _add_variant("You return y; x is not used.", lambda x, y: y + np.zeros_like(x)),
        _add_variant("You return the larger of the two.", np.maximum),
        _add_variant("The fractions are cut off before the sum: an integer stands between input and result.",
                     lambda x, y: np.trunc(x) + np.trunc(y)),
    ),
    hints=(
        "A jiterator kernel is a string of C++ that says what happens to one single element. "
        "You never write the loop, and you never say how many elements there are.",
        "The string starts with `template <typename T>`. Behind that comes an ordinary C++ function: a return "
        "type, a name, its parameters with their types, and a body in braces. Use T as the only type, and it "
        "serves all of them.",
        "The skeleton is `template <typename T> T add(T x, T y) { return ...; }`. "
        "Put it in quotes, and hand it to torch.cuda.jiterator._create_jit_fn.",
    ),
    points=2,
    solution='''\
add = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T add(T x, T y) { return x + y; }"
)
''',
    starter='''\
add = None  # your kernel: torch.cuda.jiterator._create_jit_fn("...")
''',
)


# jit-saxpy


def _keyword(case: Case, name: str, default: float) -> float:
    return case.kwargs.get(name, default)


def _alpha(draw: Draw) -> dict:
    return {"alpha": float(draw.rng.choice([2.5, -1.5, 0.75, 3.5, -2.25]))}


def _alphas(draw: Draw) -> list[dict]:
    return [{}, {"alpha": draw.number(-3, -1)}, {"alpha": draw.number(1, 3)}, {"alpha": 0.0},
            {"alpha": draw.number(0.001, 0.01)}, {"alpha": 1 / 3}]


def _saxpy_terms(case: Case):
    x, y = _inputs(case)
    return wide(_keyword(case, "alpha", 1.0), case.dtype), x, y


def _saxpy(case: Case) -> Expected:
    alpha, x, y = _saxpy_terms(case)
    return Expected(alpha * x + y, np.abs(alpha * x) + np.abs(y))


def _saxpy_variant(says, combine):
    return Variant(says, lambda case: combine(*_saxpy_terms(case)))


_SAXPY = Exercise(
    id="jit-saxpy",
    lesson=1,
    title="A keyword for the kernel",
    task="Write a jiterator kernel `saxpy` that computes alpha * x + y in one launch. "
    "alpha is a keyword that is 1.0 unless the caller says otherwise.",
    signature="saxpy(x, y, alpha=1.0) -> tensor of the common shape and dtype",
    dtypes=FLOATS,
    promised="float16, bfloat16, float32, float64; any shapes that broadcast, any strides",
    families=(
        fam.small(2, FLOATS, _alpha),
        fam.keyword_series(2, (torch.float32,), _alphas),
        fam.every_dtype(2, FLOATS, _alpha),
        fam.sizes(2, (torch.float32,), _alpha),
        fam.special(2, FLOATS, _alpha),
        fam.views(2, TWO_FLOATS, _alpha),
        fam.broadcasting((torch.float32,), _alpha),
        fam.renewed(2, torch.float32, _alpha),
        fam.large(2, torch.float32, _alpha),
    ),
    oracle=_saxpy,
    tolerance=4.0,
    limits=Limits(passes=3, launches=1),
    kind="jiterator",
    torch_ops_allowed=False,
    variants=(
        _saxpy_variant("alpha has no effect: this is x + y.", lambda a, x, y: x + y),
        _saxpy_variant("alpha multiplies y; it belongs to x.", lambda a, x, y: x + a * y),
        _saxpy_variant("alpha multiplies the whole sum; it belongs to x alone.", lambda a, x, y: a * (x + y)),
        _saxpy_variant("y is subtracted.", lambda a, x, y: a * x - y),
        _saxpy_variant("y is not used.", lambda a, x, y: a * x + np.zeros_like(y)),
        _saxpy_variant("alpha is added where it should multiply.", lambda a, x, y: a + x + y),
        _saxpy_variant("This is x * y + alpha: the parameters stand in another order than they are passed. "
                       "Tensors come first, then keywords.", lambda a, x, y: x * y + a),
        _saxpy_variant("alpha lost its fraction: somewhere it becomes an integer.",
                       lambda a, x, y: np.trunc(a) * x + y),
    ),
    hints=(
        "A keyword of _create_jit_fn becomes one more parameter of your C++ function. "
        "How does jiterator know which parameter it is?",
        "Names never reach C++: keywords come behind the tensors, in the order in which you gave them to "
        "_create_jit_fn. What you write there is also the default.",
        "`template <typename T> T saxpy(T x, T y, T alpha) { ... }`, created with `alpha=1.0` behind the string. "
        "The body is the formula of the task.",
    ),
    points=3,
    solution='''\
saxpy = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T saxpy(T x, T y, T alpha) { return alpha * x + y; }",
    alpha=1.0,
)
''',
    starter='''\
saxpy = None  # your kernel: torch.cuda.jiterator._create_jit_fn("...", alpha=...)
''',
)


# jit-leaky-relu


def _slope(draw: Draw) -> dict:
    return {"slope": float(draw.rng.choice([0.5, 0.25, 1.5, 0.1, 2.0]))}


def _slopes(draw: Draw) -> list[dict]:
    return [{}, {"slope": draw.number(0.05, 0.5)}, {"slope": draw.number(1.5, 3)}, {"slope": 0.0},
            {"slope": draw.number(-2, -1)}, {"slope": 1 / 3}]


def _leaky_terms(case: Case):
    return _inputs(case)[0], wide(_keyword(case, "slope", 0.01), case.dtype)


def _leaky(case: Case) -> Expected:
    x, slope = _leaky_terms(case)
    value = np.where(x > 0, x, slope * x)
    return Expected(value, np.abs(value))


def _leaky_variant(says, combine):
    return Variant(says, lambda case: combine(*_leaky_terms(case)))


_LEAKY = Exercise(
    id="jit-leaky-relu",
    lesson=1,
    title="A branch in the kernel",
    task="Write a jiterator kernel `leaky_relu` with one input and a keyword slope: x where x > 0, else slope * x. "
    "NaN stays NaN, whatever the slope.",
    signature="leaky_relu(x, slope=0.01) -> tensor of x's shape and dtype",
    dtypes=FLOATS,
    promised="float16, bfloat16, float32, float64; any shape and strides",
    families=(
        fam.small(1, FLOATS, _slope),
        fam.special(1, FLOATS, _slope),
        fam.keyword_series(1, (torch.float32,), _slopes),
        fam.every_dtype(1, FLOATS, _slope),
        fam.sizes(1, (torch.float32,), _slope),
        fam.views(1, TWO_FLOATS, _slope),
        fam.renewed(1, torch.float32, _slope),
        fam.large(1, torch.float32, _slope),
    ),
    oracle=_leaky,
    tolerance=4.0,
    limits=Limits(passes=2, launches=1),
    kind="jiterator",
    torch_ops_allowed=False,
    variants=(
        _leaky_variant("Negative numbers became 0: this is relu. What should the second branch return?",
                       lambda x, s: np.where(x > 0, x, 0 * x)),
        _leaky_variant("The slope that the caller gives has no effect: 0.01 is always used.",
                       lambda x, s: np.where(x > 0, x, 0.01 * x)),
        _leaky_variant("The branches are swapped: slope multiplies the positive numbers.",
                       lambda x, s: np.where(x > 0, s * x, x)),
        _leaky_variant("Negative numbers became positive.", lambda x, s: np.where(x > 0, x, -s * x)),
        _leaky_variant("This is the larger of x and slope * x. For a slope above 1, or below 0, "
                       "that is the wrong one of the two.", lambda x, s: np.maximum(x, s * x)),
        _leaky_variant("Every number is multiplied by slope; the branch is missing.", lambda x, s: s * x),
        _leaky_variant("This is the absolute value of x.", lambda x, s: np.abs(x)),
        _leaky_variant("slope lost its fraction: somewhere it becomes an integer.",
                       lambda x, s: np.where(x > 0, x, np.trunc(s) * x)),
        _leaky_variant("You return slope itself for numbers that are not positive; it must multiply x.",
                       lambda x, s: np.where(x > 0, x, s + np.zeros_like(x))),
    ),
    hints=(
        "Each element decides for itself. C++ has an expression that chooses between two values, "
        "shorter than if and else.",
        "`condition ? a : b` is a when the condition holds, else b. Every comparison with NaN is false, so NaN "
        "goes to b. Is what stands there still NaN for a NaN?",
        "`x > 0 ? ... : ...` with x in one place and the product of the two parameters in the other; "
        "slope is a second parameter of type T, and `slope=0.01` is given to _create_jit_fn.",
    ),
    points=3,
    solution='''\
leaky_relu = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T leaky_relu(T x, T slope) { return x > 0 ? x : slope * x; }",
    slope=0.01,
)
''',
    starter='''\
leaky_relu = None  # your kernel: torch.cuda.jiterator._create_jit_fn("...", slope=...)
''',
)


# compile-once


def _scale_by(draw: Draw) -> dict:
    return {"alpha": float(draw.rng.choice([2.5, -1.5, 0.75, 3.5, -2.25]))}


def _many_alphas(draw: Draw) -> list[dict]:
    return [{"alpha": draw.number(-4, 4)} for _ in range(10)] + [{"alpha": 0.0}, {"alpha": 1 / 3}]


def _scaled(case: Case) -> Expected:
    value = wide(case.kwargs["alpha"], case.dtype) * _inputs(case)[0]
    return Expected(value, np.abs(value))


def _scale_variant(says, combine):
    return Variant(says, lambda case: combine(_inputs(case)[0], wide(case.kwargs["alpha"], case.dtype)))


_ONCE_DTYPES = (torch.float32, torch.float64)

_ONCE = Exercise(
    id="compile-once",
    lesson=1,
    title="Compile once, call often",
    task="Write a Python function scale(x, alpha) that returns alpha * x, computed by a jiterator kernel of yours, "
    "and never compiles a second time for a new alpha. Create the kernel once, outside the function.",
    signature="scale(x, alpha) -> tensor of x's shape and dtype",
    dtypes=_ONCE_DTYPES,
    promised="float32, float64; any shape and strides; any float alpha",
    families=(
        fam.small(1, _ONCE_DTYPES, _scale_by),
        fam.keyword_series(1, _ONCE_DTYPES, _many_alphas),
        fam.every_dtype(1, _ONCE_DTYPES, _scale_by),
        fam.sizes(1, (torch.float32,), _scale_by),
        fam.special(1, _ONCE_DTYPES, _scale_by),
        fam.views(1, (torch.float32,), _scale_by),
        fam.renewed(1, torch.float32, _scale_by),
        fam.large(1, torch.float32, _scale_by),
    ),
    oracle=_scaled,
    tolerance=4.0,
    limits=Limits(passes=2, launches=1, compiles=1, creates=1),
    kind="jiterator",
    torch_ops_allowed=False,
    variants=(
        _scale_variant("alpha is added where it should multiply.", lambda x, a: x + a),
        _scale_variant("alpha lost its fraction: somewhere it becomes an integer.", lambda x, a: np.trunc(a) * x),
        _scale_variant("x is divided by alpha.", lambda x, a: x / a),
        _scale_variant("alpha was rounded to two digits on its way into the code.",
                       lambda x, a: np.round(a, 2) * x),
        _scale_variant("alpha was rounded to six digits on its way into the code: `{alpha:f}` and printf cut it.",
                       lambda x, a: np.round(a, 6) * x),
    ),
    hints=(
        "A kernel is compiled when its text is new. What in your program changes the text?",
        "A number pasted into the string makes a new text for each number. A keyword of _create_jit_fn travels to "
        "the kernel as an argument, like x: the text stays.",
        "Above the function: a kernel with the parameters (T x, T alpha), created with `alpha=1.0`. Inside the "
        "function: one line that calls it with x and `alpha=alpha`.",
    ),
    points=3,
    solution='''\
_scale = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T scale(T x, T alpha) { return alpha * x; }",
    alpha=1.0,
)

def scale(x, alpha):
    return _scale(x, alpha=alpha)
''',
    starter='''\
# Create your kernel here, once. Then call it inside the function.

def scale(x, alpha):
    """alpha * x by your kernel; no second compile, whatever alpha is."""
    ...
''',
)

EXERCISES = [_ADD, _SAXPY, _LEAKY, _ONCE]
