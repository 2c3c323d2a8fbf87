"""What figures draw of cells: a panel for each, or, of very many methods, only the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.figures import PercentTicks, dash, look, negatives_label, positives_label
from dml.report.labels import Texts
from dml.report.methods import Method
from dml.report.results import Results

say = Texts(__file__)

MANY = 40  # methods; of more, figures draw only the best
BEST = 8  # of them


def drawn_cells(results: Results, names: Sequence[str], key: str, bare: bool = False) -> tuple[list[str], str]:
    """The cells that a figure draws, and what its caption adds if it leaves out those of the lowest mean scores.

    Parameters
    ----------
    key : the score.
    bare : methods that differ only in settings that vary, or in a filter, count as one.
    """
    means: dict[Method, list[float]] = {}
    methods = {name: results.methods[name].bare if bare else results.methods[name] for name in names}
    for name, method in methods.items():
        means.setdefault(method, []).extend(results.values(name, key))
    if len(means) <= MANY:
        return list(names), ""
    scored = [method for method, scores in means.items() if scores]
    best = sorted(scored, key=lambda method: -float(np.mean(means[method])))[:BEST]
    return [name for name in names if methods[name] in best], " " + say("only", number=len(best))


WIDE = 4  # panels in a row, at most, unless both directions have more


def _grid(results: Results, names: list[str], below: str, left: str) -> tuple[Figure, dict[str, Axes]]:
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
    figure.supxlabel(below, color=figures.MUTED, fontsize=9)
    figure.supylabel(left, color=figures.MUTED, fontsize=9)
    return figure, {name: places[results.methods[name].panel, results.cells[name].rate] for name in names}


def series_panels(
    results: Results,
    series: Mapping[str, pd.Series],
    labels: tuple[str, str],
    draw: Callable[[Axes, pd.Series, str, str, str], None],
) -> Figure | None:
    """A figure of a series per cell; None without any.

    Parameters
    ----------
    series : for each cell its values by step or trial.
    labels : of the horizontal and the vertical axis.
    draw : called with the axes, a series, and its dashes, colour and marker.
    """
    if not series:
        return None
    figure, panels = _grid(results, list(series), *labels)
    for name, values in series.items():
        method = results.methods[name]
        draw(panels[name], values, dash(results, method), *look(results, method))
    return figure


def _legend(figure: Figure, results: Results, names: list[str]) -> None:
    """Colours for positives and dashes for negatives, above the panels."""
    axes = figure.axes[0]
    methods = [results.methods[name] for name in names]
    positives = {positives_label(method): look(results, method)[0] for method in methods}
    negatives = {negatives_label(method) or "no tuples": dash(results, method) for method in methods}
    handles = [axes.plot([], [], color=colour, label=label)[0] for label, colour in positives.items()]
    if len(negatives) > 1:
        grey = [axes.plot([], [], line, color=figures.MUTED, label=label)[0] for label, line in negatives.items()]
        handles += grey
    columns = max(2, round(figure.get_size_inches()[0] / 2.4))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5)
