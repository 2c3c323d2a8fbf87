"""Queries and their nearest neighbours as pictures.

Figure 3 of Levi et al. 2021; poster of Ustinova & Lempitsky 2016.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dml.report.figures import style

INCH = 0.62  # from one picture to the next
BELOW = 0.42  # of that, more for the label below a picture
GAP = 0.9  # between two blocks, in pictures
RIGHT, WRONG = ("\N{CHECK MARK}", style.GREEN, "-"), ("\N{BALLOT X}", style.VERMILION, (0, (2, 1.4)))
LONGEST = 11  # letters of a label


def retrieval_rows(frame: pd.DataFrame, thumbnail: Callable[[int], np.ndarray]) -> Figure:
    """A block for each query, with a row of neighbours for each method; two blocks side by side if they are narrow.

    Parameters
    ----------
    frame : query, query class, method, place (1, 2, ...), image, class, and right: whether it is the query's class.
    thumbnail : the pixels uint8 (h, w, 3) of an image.
    """
    methods, blocks = frame["method"].unique(), list(frame.groupby("query", sort=False))
    titles = [textwrap.fill(method, 18) for method in methods]
    columns = 1 + int(frame["place"].max())
    across = 2 if columns <= 7 and len(blocks) > 1 else 1
    tall, wide = len(methods) * (1 + BELOW) + GAP / 2, columns + GAP
    down = -(-len(blocks) // across)
    margin = 0.3 + max(len(line) for title in titles for line in title.split("\n")) * 0.075 / INCH
    width, height = margin + across * wide - GAP + 0.3, down * tall
    figure = Figure(figsize=(INCH * width, INCH * height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    for place, (query, found) in enumerate(blocks):
        down, right = divmod(place, across)
        x, y = margin + right * wide, down * tall + 0.1
        label = found["query class"].iloc[0]
        _picture(axes, thumbnail(query), label, None, x, y + (len(methods) - 1) * (1 + BELOW) / 2)
        for i, (method, title) in enumerate(zip(methods, titles, strict=True)):
            top = y + i * (1 + BELOW)
            if right == 0:
                look = {"fontsize": 8.5, "color": style.INK, "weight": "bold"}
                axes.text(margin - 0.15, top + 0.45, title, look, ha="right", va="center")
            for each in found[found["method"] == method].to_dict("records"):
                _picture(axes, thumbnail(each["image"]), each["class"], each["right"], x + 0.15 + each["place"], top)
    return figure


def _picture(axes: Axes, pixels: np.ndarray, name: str, right: bool | None, x: float, y: float) -> None:
    """An image in a cell of size 1, whose upper left corner is at (x, y).

    Parameters
    ----------
    name : of its class.
    right : whether it is of the query's class; None for the query itself.
    """
    height, width = pixels.shape[:2]
    w, h = 0.84 * width / max(height, width), 0.84 * height / max(height, width)
    left, top = x + (0.92 - w) / 2, y + (0.92 - h) / 2
    axes.imshow(pixels, extent=(left, left + w, top + h, top), interpolation="none", aspect="auto")
    sign, colour, dashes = ("", style.INK, "-") if right is None else RIGHT if right else WRONG
    thick = 1.0 if right is None else 2.0
    axes.add_patch(
        Rectangle((left, top), w, h, fill=False, edgecolor=colour, linestyle=dashes, linewidth=thick, zorder=3)
    )
    name = " ".join(name.split())
    label = name if len(name) <= LONGEST else name[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    text = f"{sign} {label}".strip()
    weight = "bold" if right is None else "normal"
    axes.text(x + 0.46, y + 0.95, text, ha="center", va="top", fontsize=7, color=colour, weight=weight)
