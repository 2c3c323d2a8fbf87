"""Panels of points in the plane, coloured by class."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dml.report.figures import style
from dml.report.figures.embedded import WIDTH, across

COLUMNS = 4  # methods in a row, at most


def points(frame: pd.DataFrame, numerals: bool, below: Mapping[tuple[str, str], str] | None = None) -> Figure:
    """A panel per method and set: a column for each method, and below each other its sets.

    With more than `COLUMNS` methods, again below.

    Parameters
    ----------
    frame : method, set, x, y, class, and colour: its place in `style.CLASSES`, -1 for grey points behind all others.
    numerals : whether a numeral at the median of each coloured class names it.
    below : the labels of the horizontal axes, by method and set.
    """
    methods, sets = frame["method"].unique(), list(frame["set"].unique())
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns) * len(sets)
    figure = Figure(figsize=(3.9 * columns, 0.4 + 3.6 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for i, title in enumerate(methods):
        row, column = divmod(i, columns)
        for j, name in enumerate(sets):
            axes = grid[row * len(sets) + j, column]
            axes.set_axis_on()
            _bare(axes)
            _scatter(axes, frame[(frame["method"] == title) & (frame["set"] == name)], numerals)
            axes.set_xlabel((below or {}).get((title, name), ""))
            if column == 0:
                axes.set_ylabel(name)
            if j == 0:
                axes.set_title(textwrap.fill(title, WIDTH))
    return figure


def _scatter(axes: Axes, own: pd.DataFrame, numerals: bool) -> None:
    grey = own[own["colour"] < 0]
    axes.plot(grey["x"], grey["y"], ".", color=style.MUTED, markersize=1.8, alpha=0.3, rasterized=True)
    for (place, label), each in own[own["colour"] >= 0].groupby(["colour", "class"]):
        colour = style.CLASSES[place % len(style.CLASSES)]
        axes.plot(each["x"], each["y"], ".", color=colour, markersize=2.2, alpha=0.6, rasterized=True)
        if numerals:
            x, y = each[["x", "y"]].median()
            text = axes.text(x, y, str(label), color=colour, fontsize=12, weight="bold", ha="center", va="center")
            text.set_path_effects([patheffects.withStroke(linewidth=3, foreground=style.PAPER)])


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(style.GRID)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)
