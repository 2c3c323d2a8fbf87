"""A score of a clustering against the number of clusters: a panel per set and level, a line per method."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from dml.report.figures import style
from dml.report.figures.axes import PercentTicks, grid_of
from dml.report.figures.methods import short_label
from dml.report.results import Results

DASHES = ("-", "--", ":", "-.")


def against_clusters(results: Results, frame: pd.DataFrame, left: str) -> Figure | None:
    """The figure, or None if no cell has a value. Bands are 95% intervals over seeds.

    Parameters
    ----------
    frame : panel, cell, clusters, score mean, score low and score high; a line per cell.
    left : the label of the vertical axis.
    """
    if frame.empty:
        return None
    panels, cells = frame["panel"].unique(), [name for name in results.cells if (frame["cell"] == name).any()]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(max(5.0, 1.2 + 2.9 * columns), 0.9 + 2.3 * rows + 0.17 * len(cells)), layout="constrained")
    grid = grid_of(figure, len(panels), rows, columns, sharey=True)
    for axes, (title, shown) in zip(grid.flat, frame.groupby("panel", sort=False), strict=False):
        for place, name in enumerate(cells):
            own, (colour, marker) = shown[shown["cell"] == name], style.look(place)
            dash = DASHES[place // len(style.LOOKS) % len(DASHES)]
            label = short_label(results, results.methods[name])
            band = own["clusters"], own["score low"], own["score high"]
            axes.fill_between(*band, color=colour, alpha=0.17, linewidth=0)
            axes.plot(own["clusters"], own["score mean"], dash, marker=marker, color=colour, label=label)
        axes.set_title(title)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(shown["clusters"].unique()))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="x")
    figure.supxlabel("clusters", color=style.MUTED, fontsize=9)
    figure.supylabel(left, color=style.MUTED, fontsize=9)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=max(1, columns - 1), frameon=False, fontsize=8.5)
    return figure
