"""`grader.timeline(fn)`, on the simulated and on a real GPU."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader import simgpu
from grader.timelines.chart import Bar, Chart, Span


class Timeline:
    """What ran when. Shows itself as a picture in a notebook and as a table in text.

    chart: all of it, as data. critical_path: seconds from the call to the end of the last of its work.
    path: what these seconds consist of, in order: bars of the device and spans of the host.
    """

    def __init__(self, chart: Chart):
        self.chart = chart

    @property
    def critical_path(self) -> float:
        return self.chart.end

    @property
    def path(self) -> list[Bar | Span]:
        return self.chart.path

    @property
    def picture(self):
        """The timeline as a `Picture`."""
        from grader.display.timeline import timeline as draw  # matplotlib takes long to import

        return draw(self.chart)

    def __repr__(self) -> str:
        from grader.display.timeline_words import table

        return table(self.chart)

    def _ipython_display_(self) -> None:
        self.picture._ipython_display_()


def timeline(fn: Callable[[], object], warm_up: int = 1) -> Timeline:
    """Run fn() and return what ran when on the GPU: kernels, copies, waits and the critical path.

    warm_up: how often fn() runs unrecorded before, so that compiling and loading kernels do not count. On the
    simulated GPU the times are modelled; on a real one they are `torch.profiler`'s. An exception of fn passes
    through. Raises TypeError where fn cannot be called.
    """
    if not callable(fn):
        raise TypeError(
            f"timeline() runs a function of yours, but got {type(fn).__name__}: hand over the function "
            "itself, as in timeline(work), or timeline(lambda: work(x))"
        )
    for _ in range(warm_up):
        torch.cuda.synchronize()
        fn()
    torch.cuda.synchronize()  # one run must not race with the next
    if simgpu.is_simulated():
        from grader.timelines.simulated import record
    else:
        from grader.timelines.profiled import record
    return Timeline(record(fn))
