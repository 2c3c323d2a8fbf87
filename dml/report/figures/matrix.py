"""One score of many methods at one noise rate, a square for each: panels or rows would fill pages."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dml.report.figures import style
from dml.report.labels import readable
from dml.report.results import Results

SQUARE = 0.21  # inches
FAINTEST = 0.06  # the opacity of the lowest score


def matrix(results: Results, frame: pd.DataFrame, names: Sequence[str]) -> Figure | None:
    """A row per loss (and what varies), a block per choice of negatives, and in it a column per choice of positives.

    A darker square is a higher mean over seeds, and a frame marks the highest. A cross is a cell without a finished
    seed. None if no cell has a score.

    Parameters
    ----------
    frame : cell and score mean.
    names : of all cells.
    """
    if frame.empty:
        return None
    known = frame.set_index("cell")["score mean"]
    scores = {results.methods[name]: float(known.get(name, np.nan)) for name in names}
    losses = list(dict.fromkeys(method.panel for method in scores))
    places = {(method.panel, method.positives, method.negatives): score for method, score in scores.items()}
    blocks: dict[str, list[str]] = {}
    for method in sorted(scores, key=lambda method: not method.positives):  # losses without a choice come last
        if method.positives not in blocks.setdefault(method.negatives, []):
            blocks[method.negatives].append(method.positives)
    left = 0.3 + 0.062 * max(map(len, losses))  # inches, as all lengths here
    titles = {
        name: textwrap.wrap(readable(name) or "no tuples", max(6, 2 * len(columns))) for name, columns in blocks.items()
    }
    top = 0.1 + 0.14 * max(map(len, titles.values()))
    foot = 0.45 + 0.065 * max(len(readable(column)) for columns in blocks.values() for column in columns)
    gap = 0.13
    rooms = {name: max(SQUARE * len(blocks[name]), 0.075 * max(map(len, titles[name]))) for name in blocks}
    width = max(left + sum(rooms.values()) + gap * len(blocks) + 0.35, 5.0)  # 5 inches: the text at the foot
    height = top + SQUARE * len(losses) + foot
    figure = Figure(figsize=(width, height))
    at = left
    for number, (negatives, columns) in enumerate(blocks.items()):
        span = (at / width, foot / height, SQUARE * len(columns) / width, SQUARE * len(losses) / height)
        axes = figure.add_axes(span)
        at += rooms[negatives] + gap
        for y, loss in enumerate(losses):
            for x, positives in enumerate(columns):
                _square(axes, x, y, places.get((loss, positives, negatives)), known.min(), known.max())
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(losses) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), [readable(c) for c in columns], rotation=90, fontsize=7.5)
        axes.set_yticks(range(len(losses)), losses if number == 0 else [], fontsize=8)
        axes.set_title("\n".join(titles[negatives]), fontsize=8)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    ends = f"faintest {known.min():.1f}%, darkest {known.max():.1f}%"
    figure.text(0.08 / width, 0.1 / height, f"blocks: negatives; columns: positives; {ends}", color=style.MUTED)
    return figure


def _square(axes: Axes, x: int, y: int, value: float | None, low: float, high: float) -> None:
    if value is None:
        return
    if np.isnan(value):
        axes.plot(x, y, "x", color=style.MUTED, markersize=4)
        return
    share = (value - low) / (high - low) if high > low else 1.0
    shade = (style.BLUE, FAINTEST + (1 - FAINTEST) * share)
    edge, width = (style.INK, 1.6) if value == high else ("none", 0.0)
    axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor=shade, edgecolor=edge, linewidth=width))
