"""Queries and their nearest neighbours as pictures.

Figure 3 of Levi et al. 2021; poster of Ustinova & Lempitsky 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dml.report.figures import style

INCH = 0.62  # from one picture to the next
BELOW = 0.42  # of that, more for the label below a picture
GAP = 0.9  # between two blocks, in pictures
RIGHT, WRONG = ("\N{CHECK MARK}", style.GREEN, "-"), ("\N{BALLOT X}", style.VERMILION, (0, (2, 1.4)))
LONGEST = 11  # letters of a label


@dataclass(frozen=True)
class Picture:
    """An image, its label, and whether it is of the query's class; None for the query itself."""

    pixels: np.ndarray  # uint8 (h, w, 3)
    label: str
    right: bool | None = None


@dataclass(frozen=True)
class Block:
    """A query, and one row of neighbours for each method."""

    query: Picture
    rows: Sequence[Sequence[Picture]]


def retrieval_rows(blocks: Sequence[Block], methods: Sequence[str]) -> Figure | None:
    """A block of rows for each query, two blocks side by side if they are narrow; None without queries."""
    if not blocks:
        return None
    columns = 1 + max(len(row) for block in blocks for row in block.rows)
    across = 2 if columns <= 7 and len(blocks) > 1 else 1
    tall, wide = len(methods) * (1 + BELOW) + GAP / 2, columns + GAP
    down = -(-len(blocks) // across)
    margin = 0.3 + max(len(line) for title in methods for line in title.split("\n")) * 0.075 / INCH
    width, height = margin + across * wide - GAP + 0.3, down * tall
    figure = Figure(figsize=(INCH * width, INCH * height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    for place, block in enumerate(blocks):
        down, right = divmod(place, across)
        x, y = margin + right * wide, down * tall + 0.1
        _picture(axes, block.query, x, y + (len(methods) - 1) * (1 + BELOW) / 2)
        for i, (title, row) in enumerate(zip(methods, block.rows, strict=True)):
            top = y + i * (1 + BELOW)
            if right == 0:
                axes.text(
                    margin - 0.15,
                    top + 0.45,
                    title,
                    ha="right",
                    va="center",
                    fontsize=8.5,
                    color=style.INK,
                    weight="bold",
                )
            for j, picture in enumerate(row):
                _picture(axes, picture, x + 1.15 + j, top)
    return figure


def _picture(axes: Axes, picture: Picture, x: float, y: float) -> None:
    """A picture in a cell of size 1, whose upper left corner is at (x, y)."""
    height, width = picture.pixels.shape[:2]
    w, h = 0.84 * width / max(height, width), 0.84 * height / max(height, width)
    left, top = x + (0.92 - w) / 2, y + (0.92 - h) / 2
    axes.imshow(picture.pixels, extent=(left, left + w, top + h, top), interpolation="none", aspect="auto")
    sign, colour, dashes = ("", style.INK, "-") if picture.right is None else RIGHT if picture.right else WRONG
    thick = 1.0 if picture.right is None else 2.0
    axes.add_patch(
        Rectangle((left, top), w, h, fill=False, edgecolor=colour, linestyle=dashes, linewidth=thick, zorder=3)
    )
    label = picture.label if len(picture.label) <= LONGEST else picture.label[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    text = f"{sign} {label}".strip()
    weight = "bold" if picture.right is None else "normal"
    axes.text(x + 0.46, y + 0.95, text, ha="center", va="top", fontsize=7, color=colour, weight=weight)
