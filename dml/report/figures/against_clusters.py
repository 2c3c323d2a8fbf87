"""A score of a clustering against the number of clusters: a panel per set and level, a line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from dml.report.analysis.summaries import summary_of
from dml.report.figures import style
from dml.report.figures.axes import PercentTicks
from dml.report.figures.methods import short_label
from dml.report.labels import group_label, metric_label, metric_of
from dml.report.results import Results

DASHES = ("-", "--", ":", "-.")


def against_clusters(results: Results, names: Sequence[str], panels: Mapping[str, Mapping[int, str]]) -> Figure | None:
    """The figure, or None if no cell has a value. Bands are 95% intervals over seeds.

    Parameters
    ----------
    names : of the cells, one per method.
    panels : for each panel the score key by the number of clusters.
    """
    keys = [key for keys in panels.values() for key in keys.values()]
    names = [name for name in names if any(len(results.values(name, key)) for key in keys)]
    if not names:
        return None
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(max(5.0, 1.2 + 2.9 * columns), 0.9 + 2.3 * rows + 0.17 * len(names)), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, numbered in zip(grid.flat, panels.values(), strict=False):
        numbers = sorted(numbered)
        for place, name in enumerate(names):
            _line(axes, results, name, {k: numbered[k] for k in numbers}, place)
        axes.set_title(group_label(numbered[numbers[0]]))
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(numbers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="x")
    figure.supxlabel("clusters", color=style.MUTED, fontsize=9)
    stem = metric_of(keys[0]).partition("@")[0]
    figure.supylabel(metric_label(stem), color=style.MUTED, fontsize=9)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=max(1, columns - 1), frameon=False, fontsize=8.5)
    return figure


def _line(axes: Axes, results: Results, name: str, numbered: Mapping[int, str], place: int) -> None:
    colour, marker = style.look(place)
    found = {k: summary_of(results.values(name, key), "s") for k, key in numbered.items()}
    found = {k: s for k, s in found.items() if s["s n"]}
    if not found:
        return
    mean, low, high = (np.array([s[f"s {part}"] for s in found.values()], float) for part in ("mean", "low", "high"))
    dash = DASHES[place // len(style.LOOKS) % len(DASHES)]
    label = short_label(results, results.methods[name])
    axes.fill_between(list(found), low, high, color=colour, alpha=0.17, linewidth=0)
    axes.plot(list(found), mean, dash, marker=marker, color=colour, label=label)
