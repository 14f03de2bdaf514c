"""A slider that calls a kernel with another number and draws what comes back."""

import io
from collections.abc import Callable

import ipywidgets
import torch
from matplotlib.figure import Figure

from grader.display.picture import BLUE, FONT


def explore(function: Callable, x: torch.Tensor, **keyword: tuple[float, float]) -> ipywidgets.VBox:
    """Show `function(x, name=value)` against `x`, with a slider for the value.

    x: a 1-D tensor on any device. keyword: one name with its lowest and highest value, such as
    `frequency=(0.5, 5.0)`; the slider starts at the lowest. Each move calls `function` once. Raises TypeError
    unless there is exactly one keyword.
    """
    if len(keyword) != 1:
        raise TypeError(f"explore() takes one keyword with its range, such as by=(0.5, 5.0), got {keyword}")
    [(name, (low, high))] = keyword.items()
    # An image and no Output widget: programs that run notebooks without a browser stumble over the latter.
    image = ipywidgets.Image(format="png", width=700)
    slider = ipywidgets.FloatSlider(value=low, min=low, max=high, step=(high - low) / 100, description=name)

    def draw(_change=None):
        image.value = _curve(x, function(x, **{name: slider.value}), f"{name} = {slider.value:.2f}")

    slider.observe(draw, names="value")
    draw()
    return ipywidgets.VBox([slider, image])


def _curve(x: torch.Tensor, y: torch.Tensor, label: str) -> bytes:
    figure = Figure(figsize=(7, 2.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(x.tolist(), y.tolist(), color=BLUE)
    axes.set_title(label, fontsize=FONT)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=160, facecolor="white")
    return file.getvalue()
