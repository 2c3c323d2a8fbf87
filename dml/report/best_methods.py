"""Very many methods in one panel: the best ones in colour, all others in grey."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.figures import PercentTicks, dash, grid_of, look, negatives_label, positives_label, short_label
from dml.report.labels import Texts
from dml.report.methods import Method
from dml.report.results import Results

say = Texts(__file__)

MANY = 40  # methods; more are not all drawn in colour
BEST = 8  # of them are
Points = Sequence[tuple[float, float, float, float]]  # (x, mean, low, high), by x; low and high may be NaN


def points_of(results: Results, frame: pd.DataFrame) -> dict[Method, list[tuple[float, float, float, float]]]:
    """Rate, mean, low and high of each method's scores, by rate.

    Parameters
    ----------
    frame : cell, rate, score mean, score low and score high.
    """
    found: dict[Method, list[tuple[float, float, float, float]]] = {}
    for row in frame.sort_values("rate", kind="stable").to_dict("records") if len(frame) else ():
        point = row["rate"], row["score mean"], row["score low"], row["score high"]
        found.setdefault(results.methods[row["cell"]], []).append(point)
    return found


def best_methods(results: Results, names: Sequence[str], key: str) -> list[Method]:
    """The methods with the highest mean of a score over their cells and seeds, best first: at most `BEST`."""
    found: dict[Method, list[float]] = {}
    for name in names:
        values = results.values(name, key)
        if len(values):
            found.setdefault(results.methods[name], []).append(float(values.mean()))
    return sorted(found, key=lambda method: -float(np.mean(found[method])))[:BEST]


def is_many(results: Results, names: Sequence[str]) -> bool:
    """Whether these cells have too many methods for a figure of all."""
    return len({results.methods[name] for name in names}) > MANY


def said(best: Sequence[Method], methods: int) -> str:
    """What a caption says: `Coloured: the best 8 of 400 methods by their mean; grey: the other 392.`"""
    others = methods - len(best)
    return " " + say("coloured", best=len(best), methods=methods, others=others)


def only_best(number: int) -> str:
    """What a caption says where the others are not drawn."""
    return " " + say("only", number=number)


def best_series(
    results: Results, series: Mapping[str, pd.Series], key: str, labels: tuple[str, str]
) -> tuple[Figure | None, str]:
    """A panel for each noise rate with a line for each of the best methods; and what the caption adds.

    Parameters
    ----------
    series : for each cell its values by step or trial.
    key : the score by which methods are the best.
    labels : of the horizontal and the vertical axis.
    """
    panels: dict[str, dict[Method, Points]] = {}
    for name, values in sorted(series.items(), key=lambda item: results.cells[item[0]].rate):
        points = [(float(x), float(y), math.nan, math.nan) for x, y in values.items()]
        level = results.level(*results.cells[name].noise_level)
        panels.setdefault(level, {})[results.methods[name]] = points
    best, methods = best_methods(results, list(series), key), len({results.methods[name] for name in series})
    return best_lines(results, panels, best, *labels), said(best, methods) if methods > len(best) else ""


def best_lines(
    results: Results,
    panels: Mapping[str, Mapping[Method, Points]],
    best: Sequence[Method],
    below: str,
    left: str,
    rates: bool = False,
) -> Figure | None:
    """A panel for each title, with a coloured line for each of the best methods; None without points.

    Parameters
    ----------
    below, left : the labels of the two axes.
    rates : whether x is a share, which is written as a percentage.
    """
    panels = {title: lines for title, lines in panels.items() if any(lines.values())}
    if not panels:
        return None
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(7.6 if columns > 1 else 6.6, 0.6 + 0.19 * len(best) + 2.5 * rows), layout="constrained")
    grid = grid_of(figure, len(panels), rows, columns, sharex=True, sharey=True)
    for axes, (title, lines) in zip(grid.flat, panels.items(), strict=False):
        others = [[point[:2] for point in points] for method, points in lines.items() if method not in best and points]
        axes.add_collection(LineCollection(others, colors=figures.CONTEXT, linewidths=0.6, alpha=0.5, zorder=1))
        axes.autoscale_view()
        for place, method in enumerate(best):
            if lines.get(method):
                x, mean, low, high = (np.asarray(column, float) for column in zip(*lines[method], strict=True))
                colour, marker = figures.colour_and_marker(place)
                axes.fill_between(x, low, high, color=colour, alpha=0.1, linewidth=0, zorder=2)
                label = "\n".join(textwrap.wrap(short_label(results, method), 90))
                axes.plot(x, mean, marker=marker if len(x) < 9 else "", color=colour, label=label, zorder=3)
        axes.set_title(title)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=not rates))
        if rates:
            axes.xaxis.set_major_formatter(PercentTicks(1))
        axes.yaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="x")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=1, frameon=False, fontsize=8.5)
    figure.supxlabel(below, color=figures.MUTED, fontsize=9)
    if rows > 1:
        figure.supylabel(left, color=figures.MUTED, fontsize=9)
    else:  # beside the axes alone, so that it does not reach up into the legend
        grid[0, 0].set_ylabel("\n".join(textwrap.wrap(left, 34)))
    return figure


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
    figure.supxlabel(below, color=figures.MUTED, fontsize=9)
    figure.supylabel(left, color=figures.MUTED, fontsize=9)
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
        grey = [axes.plot([], [], line, color=figures.MUTED, label=label)[0] for label, line in negatives.items()]
        handles += grey
    columns = max(2, round(figure.get_size_inches()[0] / 2.4))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5)
