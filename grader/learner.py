"""What the learner holds: a problem with check, hint and solution, and the view of the progress."""

from functools import cache

from grader import diagnosis, display, exercises, progress_file, simgpu, tracebacks
from grader.check import Values, Verdict, check
from grader.display import Rendered, print_in_scripts

_MISSING = object()


class Checked:
    """The outcome of a check. Shows itself as the last line of a cell; true where the check passed."""

    def __init__(self, verdict: Verdict, shown: Rendered):
        self.verdict = verdict
        self._shown = shown

    @property
    def passed(self) -> bool:
        return self.verdict.passed

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return self._shown.text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self._shown._repr_mimebundle_()


class Problem:
    """An exercise in the learner's hands. Shows its card."""

    def __init__(self, exercise: exercises.Exercise):
        self._exercise = exercise
        self._hints_shown = 0

    def check(self, answer: object = _MISSING, seed: int | None = None) -> Checked | Rendered:
        """Check `answer`, the kernel or function itself, and note the outcome in the progress.

        seed: the one that a failed check printed, to get the same inputs again; fresh inputs without it.
        Without an answer it says how to call it. In a plain script it prints the verdict as well.
        KeyboardInterrupt passes through, with a message on what ran.
        """
        ex = self._exercise
        if answer is _MISSING:
            how = f"Hand over your answer itself, without calling it: check({ex.entry})"
            return _say(display.note(ex.id, how))
        if seed is not None and (type(seed) is not int or seed < 0):
            return _say(display.note(ex.id, f"A seed is a whole number, not negative; this one is {seed!r}."))
        try:
            verdict = check(ex, answer, seed=seed)
        except KeyboardInterrupt as stop:
            stop = KeyboardInterrupt(str(stop) or "the check was stopped")
            tracebacks.of_their_lines(stop)
            raise stop from None
        if verdict.values is not Values.NOT_ATTEMPTED:
            progress_file.current().checked(ex.id, verdict.passed)
        return _say(Checked(verdict, display.verdict(verdict, ex)))

    def hint(self) -> Rendered:
        """Show the next of the three hints; after the third, all of them again."""
        ex = self._exercise
        number = self._hints_shown + 1
        self._hints_shown = min(number, len(ex.hints))
        progress_file.current().hint_shown(ex.id, self._hints_shown)
        return _say(display.hint(ex, number))

    def solution(self) -> Rendered:
        """Show one good answer; that it was seen is noted in the progress and costs nothing."""
        progress_file.current().solution_shown(self._exercise.id)
        return _say(display.solution(self._exercise))

    def card(self) -> Rendered:
        """Return the card, as showing the problem itself does."""
        hints_left = len(self._exercise.hints) - self._hints_shown
        return display.card(self._exercise, hints_left, simulated=simgpu.is_simulated())

    def __repr__(self) -> str:
        return self.card().text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.card()._repr_mimebundle_()


def exercise(exercise_id: str) -> Problem:
    """Return the problem with this id, the same one each time, so that its hints go on where they were.

    Raises `grader.exercises.UnknownExercise`, naming the nearest ids.
    """
    try:
        return _problem(exercises.get(exercise_id))
    except exercises.UnknownExercise as error:
        # IPython asks the exception for its traceback: the message says it all, our frames would bury it.
        shown = [f"{type(error).__name__}: {error}"]
        error._render_traceback_ = lambda: shown
        raise


def progress() -> Rendered:
    """Show what is done, for each lesson."""
    return _say(display.progress(exercises.by_lesson(), progress_file.current().records()))


def doctor() -> Rendered:
    """Look at what the course needs on this machine, and show it with what to mend. Takes seconds."""
    return _say(display.doctor(diagnosis.examine()))


def limits() -> Rendered:
    """Show where the simulated GPU differs from a real one, and why."""
    from grader.simgpu.limits import LIMITS

    return _say(display.limits(LIMITS))


@cache
def _problem(found: exercises.Exercise) -> Problem:
    return Problem(found)


def _say(message):
    print_in_scripts(message)
    return message
