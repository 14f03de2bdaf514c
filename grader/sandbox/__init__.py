"""Running one hand-in in a process of its own: `run(job) -> Outcome`.

This first form keeps accidents apart (endless loops, memory eaters, dead processes, floods of output):
nothing that a hand-in does by mistake reaches the batch or another hand-in. It is *not* proof against a
hand-in written to cheat: the hand-in's code and the checks share one process, so code that goes looking for
the checker, its oracles or the result channel can find them, and files that the user may write can be
written. What is cheap to refuse is refused: the result channel has no name, its frames carry a token that is
read before the hand-in's code runs, the check functions are bound before it too, and a cell that is reported
twice with different verdicts, or an unknown one, is not scored and is noted as suspect. A hand-in that ends
its parent ends only itself (see keeper.py); one that goes looking for the grader's process can end it, and is
then named by the batch (see grader.course.batch).
"""

from grader.sandbox.job import Cell, Job, Outcome, Reported, Status
from grader.sandbox.supervise import Cancelled, run

__all__ = ["Cancelled", "Cell", "Job", "Outcome", "Reported", "Status", "run"]
