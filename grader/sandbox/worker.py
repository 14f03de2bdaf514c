"""The process in which one hand-in runs: `python -m grader.sandbox.worker`, the order on stdin, frames on a
pipe.

Cells run in an IPython shell, in notebook order, sharing one namespace, as in the learner's own notebook.
Right after an answer cell its exercise is checked, and the verdict is sent before the next cell starts:
whatever happens later cannot take it back.
"""

import builtins
import getpass
import json
import os
import sys
import traceback


class InputRefused(EOFError):
    """Raised in the hand-in's code by input(): nobody is at the keyboard while grading."""


class CannotGrade(Exception):
    """This machine lacks what grading needs, whatever the hand-in does; the message says what."""


def main() -> None:
    order = json.load(sys.stdin.buffer)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the order, token included, is no longer to be had from stdin
    os.close(nothing)
    from grader.sandbox.frames import Sender

    sender = Sender(order["fd"], order.pop("token"))
    try:
        session = _Session(sender)
    except BaseException as error:
        why = str(error) if isinstance(error, CannotGrade) else traceback.format_exc(limit=-3)
        sender.send("failed", why=why)
        os._exit(1)
    try:
        for cell in order["cells"]:
            session.run(cell["index"], cell["source"], cell["exercise"])
    except CannotGrade as error:
        sender.send("failed", why=str(error))
        os._exit(1)
    sender.send("done")
    os._exit(0)  # not sys.exit: threads and exit handlers of the hand-in have no say any more


class _Session:
    def __init__(self, sender):
        from grader import exercises, simgpu
        from grader.check import Values, Verdict, check
        from grader.sandbox import shell, verdicts

        simgpu.activate()
        self._compiler = _compiler(simgpu)
        # Bound before any code of the hand-in runs: one that replaces grader.check changes nothing below.
        self._send = sender.send
        self._check = check
        self._get = exercises.get
        self._verdict_of_error = verdicts.from_error
        self._verdict_of_absence = verdicts.from_absence
        self._to_json = Verdict.to_json
        self._error = Values.ERROR
        self._describe = shell.describe_error
        self._shell = shell.start()
        self._cell = None
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        builtins.input = getpass.getpass = self._refuse_input
        self._send("ready", made_with=_made_with(simgpu))

    def _refuse_input(self, prompt="", stream=None):
        self._send("input", cell=self._cell)
        raise InputRefused(
            "input() has nobody to ask while the notebook is being graded; use a value instead"
        )

    def _mend_streams(self) -> None:
        """A cell that closed or replaced stdout must not make every later print, and so every later cell,
        fail.
        """
        for name, stream in self._streams.items():
            if stream.closed:
                self._streams[name] = stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)

    def run(self, index: int, source: str, exercise_id: str | None) -> None:
        """Run one cell; if it is an answer, check it. Sends what happened; raises nothing of the
        hand-in's. CannotGrade when the machine has lost what checks need.
        """
        self._cell = index
        self._send("cell", cell=index)
        self._mend_streams()
        exercise = self._get(exercise_id) if exercise_id else None
        before = self._shell.user_ns.get(exercise.entry) if exercise else None
        error, before_execution = self._run_source(source)
        if error is not None:
            self._send("error", cell=index, text=self._describe(error), memory=isinstance(error, MemoryError))
        if exercise is None:
            return
        candidate = self._shell.user_ns.get(exercise.entry)
        defined_here = candidate is not None and candidate is not before
        try:
            if error is not None and (before_execution or not defined_here):
                verdict = self._verdict_of_error(exercise, error, self._describe(error))
            elif exercise.entry not in self._shell.user_ns and not _is_blank(source):
                verdict = self._verdict_of_absence(exercise)
            else:
                verdict = self._check_answer(exercise, candidate)
            failed = verdict.values is self._error
            verdict = self._to_json(verdict)
        except BaseException:
            self._need_the_compiler()
            self._send("check_failed", cell=index, exercise=exercise_id, why=traceback.format_exc(limit=-5))
        else:
            if failed:
                self._need_the_compiler()
            self._send("verdict", cell=index, exercise=exercise_id, verdict=verdict)

    def _need_the_compiler(self) -> None:
        """No answer is to blame if the compiler is gone since the start: CannotGrade."""
        if self._compiler is not None and not os.access(self._compiler, os.X_OK):
            raise CannotGrade(f"the C++ compiler {self._compiler} is no longer there")

    def _check_answer(self, exercise, candidate):
        try:
            return self._check(exercise, candidate)
        except KeyboardInterrupt as error:  # nobody presses Ctrl-C here: the answer itself raised it
            return self._verdict_of_error(exercise, error, self._describe(error))

    def _run_source(self, source: str) -> tuple[BaseException | None, bool]:
        """Run a cell's text; return what it raised and whether that was before anything of it was
        executed.
        """
        try:
            result = self._shell.run_cell(source, store_history=True)
        except BaseException as error:  # text that IPython itself cannot take, such as a lone surrogate
            return error, True
        return result.error_before_exec or result.error_in_exec, result.error_before_exec is not None


def _is_blank(source: str) -> bool:
    return all(not line.strip() or line.strip().startswith("#") for line in source.splitlines())


def _compiler(simgpu) -> str | None:
    """The simulated GPU's C++ compiler; None with a real GPU. Without one every answer would be an error that
    is none of the hand-in's: CannotGrade.
    """
    from grader.simgpu.native import compiler
    from grader.simgpu.native.compiler import NoCompiler

    try:
        return compiler.command()[0] if simgpu.is_simulated() else None
    except NoCompiler as error:
        raise CannotGrade(str(error)) from None


def _made_with(simgpu) -> dict:
    import platform

    import torch

    return {"python": platform.python_version(), "torch": torch.__version__, "gpu": simgpu.describe()}


if __name__ == "__main__":
    main()
