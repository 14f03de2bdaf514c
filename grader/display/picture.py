"""A picture that shows once, with its content in words, and the looks that all pictures share."""

import base64
import io
from collections.abc import Mapping
from html import escape

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any common colour blindness can tell apart.
BLUE, SKY, GREEN, ORANGE, VERMILLION = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00"
INK, GREY, PALE = "#1a1a1a", "#595959", "#e8e8e8"
FONT = 11  # points; nothing is set smaller than 10
_DPI = 160


class Picture:
    """A matplotlib figure with its content in words.

    figure: the Figure. alt: what it shows, in words. data: what is plotted, for whoever wants to check it.
    In a notebook the words follow the image, folded away: JupyterLab gives images no alternative text.
    """

    def __init__(self, figure: Figure, alt: str, data: Mapping[str, object]):
        self.figure = figure
        self.alt = alt
        self.data = data

    def __repr__(self) -> str:
        return f"[picture: {self.alt}]"

    def png(self) -> bytes:
        """Return the image as PNG, 160 pixels an inch, on white."""
        file = io.BytesIO()
        self.figure.savefig(file, format="png", dpi=_DPI, facecolor="white")
        return file.getvalue()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        image = {"image/png": base64.b64encode(self.png()).decode(), "text/plain": repr(self)}
        width = round(self.figure.get_figwidth() * 96)  # CSS pixels; more dots serve sharp screens
        display(image, raw=True, metadata={"image/png": {"width": width, "alt": self.alt}})
        words = (
            '<details><summary style="cursor:pointer;opacity:.8">the picture in words</summary>'
            f'<div style="max-width:62em;overflow-wrap:anywhere">{escape(self.alt)}</div></details>'
        )
        display({"text/html": words, "text/plain": "(the picture in words: see above)"}, raw=True)


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of `width` x `height` inches and bare axes that fill it, unknown to pyplot."""
    figure = Figure(figsize=(width, height), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    return figure, axes
