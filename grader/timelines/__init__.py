"""`grader.timeline(fn)`: what ran when, on which stream, and why it waited.

The package is not called `timeline`, for then importing it would hide the function of that name in `grader`.
"""

from grader.timelines.chart import Bar, Chart, Span
from grader.timelines.timeline import Timeline, timeline

__all__ = ["Bar", "Chart", "Span", "Timeline", "timeline"]
