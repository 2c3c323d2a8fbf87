"""A score under label noise beside its topline, and their ratio (Le and Odobez, figures 1 to 4).

A panel for each loss and choice of negatives shows the score of training on wrong labels (solid) and of training on the
correctly labelled samples only (dashed). The last panel shows the first as a share of the second, for all methods.
"""

from __future__ import annotations

import string
import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from dml.report.analysis.shares import LEFT
from dml.report.figures import style
from dml.report.figures.axes import PercentTicks, grid_of, place
from dml.report.figures.methods import look, positives_label, short_label
from dml.report.labels import metric_label, metric_of, readable
from dml.report.methods import Method
from dml.report.results import Results

WIDE = 4  # panels in a row, at most
NOISY, TOPLINE, KEPT = "wrong labels", "topline: correct labels only", "share of the topline"


def noise_and_topline(results: Results, frame: pd.DataFrame, key: str, below: str) -> Figure | None:
    """The figure, or None without a share. Bands are 95% intervals over seeds.

    Parameters
    ----------
    frame : cell, rate, series (`NOISY`, `TOPLINE` or `KEPT`), score mean, score low and score high.
    key : the score.
    below : the label of the horizontal axis.
    """
    if frame.empty or KEPT not in set(frame["series"]):
        return None
    methods = list(dict.fromkeys(results.methods[name] for name in frame["cell"]))
    by_rate = frame.assign(method=frame["cell"].map(results.methods)).sort_values("rate", kind="stable")
    found = dict(list(by_rate.groupby(["method", "series"], sort=False)))
    panel_of = {method: _panel_of(method, len(methods)) for method in methods}
    panels = list(dict.fromkeys(panel_of.values()))
    columns = min(WIDE, len(panels) + 1)
    rows = -(-(len(panels) + 1) // columns)
    width, handles = 0.6 + 2.65 * columns, _handles(results, methods)
    beside = max(1, int(width / (0.5 + 0.075 * max(len(str(handle.get_label())) for handle in handles))))
    titles = [readable(", ".join(filter(None, panel))) for panel in panels]
    titles.append(f"{metric_label(metric_of(key))}, {KEPT}")
    lines = max(len(_wrapped(title, 0).splitlines()) for title in titles)
    legend, head = 0.12 + 0.17 * -(-len(handles) // beside), 0.12 + 0.15 * lines  # inches, above all and above each
    figure = Figure(figsize=(width, legend + (1.75 + head) * rows + 0.3))
    grid = grid_of(figure, len(panels) + 1, rows, columns, sharex=True).flat
    place(figure, (rows, columns), 0.75, 0.1, legend + head, 0.55, (0.5, 0.25 + head))
    scores, share = grid[: len(panels)], grid[len(panels)]
    for axes in scores[1:]:
        axes.sharey(scores[0])
    for axes, panel in zip(scores, panels, strict=True):
        for method in [m for m in methods if panel_of[m] == panel]:
            colour, marker = _look(results, methods, method)
            _line(axes, found.get((method, NOISY)), method.label, colour, marker, "-")
            _line(axes, found.get((method, TOPLINE)), f"{method.label}: topline", colour, "", "--")
        _panel(axes, titles[panels.index(panel)], panels.index(panel))
    for method in methods:
        looks = _look(results, methods, method)
        _line(share, found.get((method, KEPT)), method.label, *looks, "-", band=len(methods) <= len(style.LOOKS))
    share.axhline(LEFT, color=style.MUTED, linewidth=0.8, linestyle=":")
    _panel(share, titles[-1], len(panels))
    figure.legend(handles=handles, loc="upper left", ncols=beside, frameon=False, fontsize=8.5)
    height = figure.get_size_inches()[1]
    figure.supxlabel(below, color=style.MUTED, fontsize=9, y=0.06 / height, va="bottom")
    figure.supylabel(metric_label(metric_of(key)), color=style.MUTED, fontsize=9, x=0.06 / width, ha="left")
    return figure


def _panel_of(method: Method, methods: int) -> tuple[str, str]:
    """Loss and negatives. Filters share a panel if each method has a colour of its own."""
    return (method.unfiltered if methods <= len(style.LOOKS) else method).panel, method.negatives


def _look(results: Results, methods: list[Method], method: Method) -> tuple[str, str]:
    """Colour and marker: those of the method if there are enough of them, else those of its positives."""
    if len(methods) <= len(style.LOOKS):
        return style.look(methods.index(method))
    return look(results, method)


def _line(
    axes: Axes, own: pd.DataFrame | None, label: str, colour: str, marker: str, dashes: str, band: bool = True
) -> None:
    if own is None:
        return
    if band:
        axes.fill_between(
            own["rate"], own["score low"], own["score high"], color=colour, alpha=0.15, linewidth=0, zorder=2
        )
    axes.plot(own["rate"], own["score mean"], dashes, marker=marker, color=colour, label=label, zorder=3)


def _wrapped(title: str, number: int) -> str:
    letter = f"({string.ascii_lowercase[number]}) " if number < len(string.ascii_lowercase) else ""
    return "\n".join(textwrap.wrap(letter + title, 29))


def _panel(axes: Axes, title: str, number: int) -> None:
    axes.set_title(_wrapped(title, number))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(PercentTicks(1))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(PercentTicks(100))
    axes.tick_params(labelbottom=True)
    axes.grid(visible=False, axis="x")


def _handles(results: Results, methods: list[Method]) -> list[Line2D]:
    """Of the legend: the methods, or their positives if there are too many, and the two kinds of lines."""
    few = len(methods) <= len(style.LOOKS)
    names = {short_label(results, m) if few else positives_label(m): _look(results, methods, m) for m in methods}
    handles = [Line2D([], [], color=colour, marker=marker, label=name) for name, (colour, marker) in names.items()]
    for dashes, label in (("-", NOISY), ("--", TOPLINE)):
        handles.append(Line2D([], [], color=style.MUTED, ls=dashes, label=label))
    return handles
