"""The syllabus. Modules named `lessonNN` or `lessonNN_...` are found by themselves, in the order of their
names, and offer `EXERCISES`, a list of `Exercise`.

Adding an exercise touches one file; a mistake in one (a duplicate id, a missing hint) is a `SyllabusError`
at import.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterable

from .model import Case, Exercise, Expected, Family, Limits, SyllabusError, Variant

__all__ = [
    "Case",
    "Exercise",
    "Expected",
    "Family",
    "Limits",
    "SyllabusError",
    "UnknownExercise",
    "Variant",
    "all",
    "by_lesson",
    "get",
    "ids",
]


class UnknownExercise(LookupError):
    """No exercise has this id; the message names the nearest ones."""

    def __init__(self, wanted: object):
        near = difflib.get_close_matches(str(wanted).lower().replace("_", "-"), ids(), n=3, cutoff=0.5)
        shown, word = (near, "Did you mean") if near else (ids(), "There are")
        super().__init__(
            f"There is no exercise {str(wanted)!r}. {word}: {', '.join(shown)}" + ("?" if near else ".")
        )


def register(modules: Iterable[tuple[int, list[Exercise]]]) -> dict[str, Exercise]:
    """Exercises by id, in the order of lessons. Raises SyllabusError for a duplicate or misplaced one."""
    found: dict[str, Exercise] = {}
    for lesson, exercises in sorted(modules, key=lambda pair: pair[0]):
        for exercise in exercises:
            if exercise.id in found:
                raise SyllabusError(f"{exercise.id}: two exercises have this id")
            if exercise.lesson != lesson:
                raise SyllabusError(
                    f"{exercise.id}: says lesson {exercise.lesson}, stands in lesson {lesson}"
                )
            found[exercise.id] = exercise
    return found


def _lessons():
    for module in pkgutil.iter_modules(__path__):
        if number := re.fullmatch(r"lesson(\d\d)(_\w+)?", module.name):
            yield int(number[1]), importlib.import_module(f"{__name__}.{module.name}").EXERCISES


_EXERCISES = register(_lessons())


def get(exercise_id: str) -> Exercise:
    """The exercise with this id. Raises UnknownExercise."""
    try:
        return _EXERCISES[exercise_id]
    except (KeyError, TypeError):
        raise UnknownExercise(exercise_id) from None


def ids() -> list[str]:
    """All ids, in the order of the course."""
    return list(_EXERCISES)


def by_lesson() -> dict[int, list[Exercise]]:
    """Exercises of each lesson, in the order of the course."""
    lessons: dict[int, list[Exercise]] = {}
    for exercise in _EXERCISES.values():
        lessons.setdefault(exercise.lesson, []).append(exercise)
    return lessons


def all() -> list[Exercise]:
    """All exercises, in the order of the course."""
    return list(_EXERCISES.values())
