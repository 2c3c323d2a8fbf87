"""Panels of points in the plane, coloured by class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dml.report.figures import style
from dml.report.figures.embedded import across

COLUMNS = 4  # methods in a row, at most
FEW = 10  # classes that are named by a numeral


def panels(methods: Sequence[str], sets: Sequence[str]) -> tuple[Figure, list[list[Axes]]]:
    """A figure with one panel per method and set, and its axes: `axes[method][set]`.

    A column for each method, and below each other its sets; with more than `COLUMNS` methods, again below.
    """
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns) * len(sets)
    figure = Figure(figsize=(3.9 * columns, 0.4 + 3.6 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    found = []
    for i, title in enumerate(methods):
        row, column = divmod(i, columns)
        own = [grid[row * len(sets) + j, column] for j in range(len(sets))]
        for axes, name in zip(own, sets, strict=True):
            axes.set_axis_on()
            _bare(axes)
            if column == 0:
                axes.set_ylabel(name)
        own[0].set_title(title)
        found.append(own)
    return figure, found


def scatter(axes: Axes, points: np.ndarray, labels: np.ndarray, coloured: Sequence[int]) -> None:
    """Draw points (n, 2) with a colour for each class of `coloured`, and the others grey behind them.

    With few coloured classes, a numeral at the median of each class names it.
    """
    axes.plot(*points[~np.isin(labels, coloured)].T, ".", color=style.MUTED, markersize=1.8, alpha=0.3, rasterized=True)
    for place, label in enumerate(coloured):
        own = points[labels == label]
        if not len(own):
            continue
        colour = style.CLASSES[place % len(style.CLASSES)]
        axes.plot(*own.T, ".", color=colour, markersize=2.2, alpha=0.6, rasterized=True)
        if len(coloured) <= FEW:
            x, y = np.median(own, axis=0)
            text = axes.text(x, y, str(label), color=colour, fontsize=12, weight="bold", ha="center", va="center")
            text.set_path_effects([patheffects.withStroke(linewidth=3, foreground=style.PAPER)])


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(style.GRID)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)
