"""A panel per loss and noise rate, for figures of what happens during a search or during training."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.figures import style
from dml.report.figures.axes import PercentTicks
from dml.report.figures.best import best_series, is_many
from dml.report.figures.methods import dash, look, negatives_label, positives_label
from dml.report.results import Results

WIDE = 4  # panels in a row, at most, unless both directions have more


def cell_grid(results: Results, names: list[str], below: str, left: str) -> tuple[Figure, dict[str, Axes]]:
    """An empty figure with a legend, and the axes of each cell.

    Parameters
    ----------
    names : of the cells.
    below, left : the labels of the two axes.
    """
    losses = list(dict.fromkeys(results.methods[name].panel for name in names))
    rates = sorted({results.cells[name].rate for name in names})
    across = len(rates) <= WIDE or len(rates) < len(losses)  # rates are columns
    rows, columns = (len(losses), len(rates)) if across else (len(rates), len(losses))
    figure = Figure(figsize=(1.9 + 2.5 * columns, 0.9 + 2.0 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    places = {}
    for i, loss in enumerate(losses):
        for j, rate in enumerate(rates):
            axes = grid[i, j] if across else grid[j, i]
            places[loss, rate] = axes
            axes.set_title(f"{loss}, {results.level(results.cells[names[0]].noise, rate)}" if len(rates) > 1 else loss)
            axes.yaxis.set_major_formatter(PercentTicks(100))
            axes.yaxis.set_major_locator(MaxNLocator(5))
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.grid(visible=False, axis="x")
    _legend(figure, results, names)
    figure.supxlabel(below, color=style.MUTED, fontsize=9)
    figure.supylabel(left, color=style.MUTED, fontsize=9)
    return figure, {name: places[results.methods[name].panel, results.cells[name].rate] for name in names}


def cells_or_best(
    results: Results,
    series: Mapping[str, pd.Series],
    key: str,
    labels: tuple[str, str],
    draw: Callable[[Axes, pd.Series, str, str, str], None],
    highest: bool = False,
) -> tuple[Figure | None, str]:
    """A figure of a series per cell, or of the best of very many methods; and what the caption adds.

    Parameters
    ----------
    series : for each cell its values by step or trial; without any there is no figure.
    key : the score by which methods are the best.
    labels : of the horizontal and the vertical axis.
    draw : called with the axes, a series, and its dashes, colour and marker; not for the best of many.
    highest : the lines of the best of many show the highest value so far.
    """
    if not series:
        return None, ""
    if not is_many(results, list(series)):
        figure, panels = cell_grid(results, list(series), *labels)
        for name, values in series.items():
            method = results.methods[name]
            draw(panels[name], values, dash(results, method), *look(results, method))
        return figure, ""
    shown = {name: values.cummax() if highest else values for name, values in series.items()}
    return best_series(results, shown, key, labels)


def _legend(figure: Figure, results: Results, names: list[str]) -> None:
    """Colours for positives and dashes for negatives, above the panels."""
    axes = figure.axes[0]
    methods = [results.methods[name] for name in names]
    positives = {positives_label(method): look(results, method)[0] for method in methods}
    negatives = {negatives_label(method) or "no tuples": dash(results, method) for method in methods}
    handles = [axes.plot([], [], color=colour, label=label)[0] for label, colour in positives.items()]
    if len(negatives) > 1:
        grey = [axes.plot([], [], line, color=style.MUTED, label=label)[0] for label, line in negatives.items()]
        handles += grey
    columns = max(2, round(figure.get_size_inches()[0] / 2.4))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5)
