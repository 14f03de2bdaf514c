import dataclasses

import pytest

from grader import exercises
from grader.exercises import SyllabusError, UnknownExercise, register


def changed(**fields):
    """The first exercise with some fields replaced, built as a lesson's author would."""
    first = exercises.all()[0]
    given = {f.name: getattr(first, f.name) for f in dataclasses.fields(first) if f.init}
    return exercises.Exercise(**given | fields)


def test_lessons_and_ids_stand_in_the_order_of_the_course():
    assert exercises.ids() == ["hello-gpu", "jit-add", "jit-saxpy", "jit-leaky-relu", "compile-once"]
    assert {n: [e.id for e in es] for n, es in exercises.by_lesson().items()} == {
        0: ["hello-gpu"],
        1: ["jit-add", "jit-saxpy", "jit-leaky-relu", "compile-once"],
    }
    assert exercises.get("jit-saxpy").entry == "saxpy"


@pytest.mark.parametrize(
    "wanted, near", [("jit_saxpy", "jit-saxpy"), ("hello", "hello-gpu"), ("leaky-relu", "jit-leaky-relu")]
)
def test_an_unknown_id_names_the_nearest(wanted, near):
    with pytest.raises(UnknownExercise, match=f"no exercise '{wanted}'.*{near}"):
        exercises.get(wanted)


@pytest.mark.parametrize("wanted", ["qqqqqq", 17, None, [1]])
def test_an_id_like_no_other_lists_them_all(wanted):
    with pytest.raises(UnknownExercise, match="compile-once"):
        exercises.get(wanted)


@pytest.mark.parametrize(
    "fields, complaint",
    [
        ({"hints": ("one", "two")}, "three hints"),
        ({"hints": ("one", " ", "three")}, "none of them empty"),
        ({"task": "Double the numbers on the GPU."}, "does not name the function `double_on_gpu`"),
        ({"signature": "double_on_gpu"}, "signature must read"),
        ({"signature": "double_on_gpu(values)"}, "does not say what is returned"),
        ({"id": "Hello GPU"}, "an id is made of"),
        ({"families": ()}, "not one case family"),
        ({"dtypes": ()}, "no dtype"),
        ({"points": 0}, "at least one point"),
        ({"solution": "def other(values): return values\n"}, "solution does not define"),
        ({"starter": "# nothing\n"}, "starter does not define"),
        ({"limits": exercises.Limits(compiles=1)}, "no family is steady"),
    ],
)
def test_a_mistake_in_a_lesson_is_named_at_import(fields, complaint):
    with pytest.raises(SyllabusError, match=complaint):
        changed(**fields)


def test_a_duplicate_id_is_refused():
    with pytest.raises(SyllabusError, match="hello-gpu: two exercises"):
        register([(0, [changed(), changed()])])


def test_an_exercise_in_the_wrong_lesson_is_refused():
    with pytest.raises(SyllabusError, match="says lesson 0, stands in lesson 3"):
        register([(3, [changed()])])


@pytest.mark.parametrize("exercise", exercises.all(), ids=lambda e: e.id)
def test_the_task_is_two_sentences_and_the_third_hint_is_no_earlier_one(exercise):
    assert exercise.task.count(". ") == 1 and exercise.task.endswith(".")
    assert len(set(exercise.hints)) == 3


@pytest.mark.parametrize("exercise", exercises.all(), ids=lambda e: e.id)
def test_hints_do_not_hold_the_solution(exercise):
    import re

    body = re.search(r"return (.+?);? *[}\n]", exercise.solution)[1]
    assert all(body not in hint for hint in exercise.hints)
