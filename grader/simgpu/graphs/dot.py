"""A captured graph in the language of Graphviz."""

from __future__ import annotations

from grader.simgpu.graphs.capture import Capture, Node, Point


def dot(capture: Capture) -> str:
    """What `CUDAGraph.debug_dump` writes: a node for each piece of work, an edge for each dependency."""
    lines, last, points = ["digraph dot {"], {}, {}
    for number, step in enumerate(capture.steps):
        after = last.setdefault(step.branch, set())
        if isinstance(step, Node):
            lines.append(f'"node{number}" [shape="record" label="{step.work.kind}\\n{step.work.name}"];')
            lines += [f'"node{other}" -> "node{number}";' for other in sorted(after)]
            last[step.branch] = {number}
        elif isinstance(step, Point):
            points[id(step)] = set(after)
        else:
            after |= points[id(step.point)]
    return "\n".join([*lines, "}", ""])
