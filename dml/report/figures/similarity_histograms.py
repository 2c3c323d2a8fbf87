"""Histograms of similarities before and after training (poster of Ustinova & Lempitsky 2016)."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.figures import style
from dml.report.figures.embedded import across

COLUMNS = 3  # methods in a row, at most
LOOKS = {"positive": (style.BLUE, ""), "negative": (style.VERMILION, "////")}


def similarity_histograms(frame: pd.DataFrame, below: str) -> Figure:
    """A column for each method, a row for each moment: `before training`, `after training`.

    Parameters
    ----------
    frame : method, moment, pairs (`positive` or `negative`), from, to, share, reverse and overlap (of the moment).
    below : the label of the horizontal axis.
    """
    methods, moments = frame["method"].unique(), list(frame["moment"].unique())
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns) * len(moments)
    figure = Figure(figsize=(0.6 + 3.0 * columns, 0.9 + 1.75 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for i, title in enumerate(methods):
        row, column = divmod(i, columns)
        for j, moment in enumerate(moments):
            axes = grid[row * len(moments) + j, column]
            axes.set_axis_on()
            _panel(axes, frame[(frame["method"] == title) & (frame["moment"] == moment)])
            if j == 0:
                axes.set_title(textwrap.fill(title, 38))
            if column == 0:
                axes.set_ylabel(moment)
    handles = [
        grid[0, 0].fill_between([], [], color=colour, hatch=hatch, alpha=0.45, label=f"{kind} pairs")
        for kind, (colour, hatch) in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel(below, color=style.MUTED, fontsize=9)
    return figure


def _panel(axes: Axes, found: pd.DataFrame) -> None:
    for pairs, (colour, hatch) in LOOKS.items():
        own = found[found["pairs"] == pairs]
        shares, edges = own["share"], [*own["from"], own["to"].iloc[-1]]
        axes.stairs(shares, edges, fill=True, facecolor=colour, alpha=0.3, linewidth=0)
        axes.stairs(shares, edges, fill=True, facecolor="none", edgecolor=colour, hatch=hatch, linewidth=0)
        axes.stairs(shares, edges, color=colour, linewidth=1.2)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    text = f"reverse order {found['reverse'].iloc[0]:.1%}\noverlap {found['overlap'].iloc[0]:.1%}"
    axes.text(0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=8, color=style.INK)
