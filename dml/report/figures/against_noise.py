"""A score against the noise rate: a panel per loss and choice of negatives, a line per positives and filter."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.analysis.untrained import untrained
from dml.report.figures import style
from dml.report.figures.axes import PercentTicks, grid_of, label_ends
from dml.report.figures.best import points_of
from dml.report.figures.methods import filter_dash, look
from dml.report.labels import is_topline, noise_axis, readable, score_label
from dml.report.methods import Method
from dml.report.results import Results

Points = list[tuple[float, float, float, float]]  # (rate, mean, low, high), by rate
Panel = tuple[str, str]  # loss with the settings that vary, negatives
HIGHEST = 101  # of the vertical axis: no score exceeds 100%, and its marker needs room
LETTERS = 11  # of a label at the end of a line; a longer one is broken


def against_noise(results: Results, frame: pd.DataFrame, dataset: str, noise: str, key: str) -> Figure | None:
    """The figure, or None if no cell has a value.

    Bands are 95% intervals over seeds. Each panel shows the lines of the other panels in grey, for comparison. A cross
    on the axis marks a cell without a finished seed. A dotted line is the best score without training.

    Parameters
    ----------
    frame : cell, rate, score mean, score low and score high.
    key : the score.
    """
    if frame.empty:
        return None
    asked: dict[Method, list[float]] = {}
    for name in results.cells_of(dataset, noise):
        asked.setdefault(results.methods[name], []).append(results.cells[name].rate)
    lines: dict[Method, Points] = {method: [] for method in asked} | points_of(results, frame)
    figure, panels = _grid(list(lines))
    rates = results.rates(dataset, noise)
    bests = {rate: untrained(results, dataset, noise, rate, key) for rate in rates}
    alone = {rate: best.score for rate, best in bests.items() if best is not None}
    for panel, axes in panels.items():
        if alone:
            axes.plot(list(alone), list(alone.values()), ":", color=style.MUTED, linewidth=1.0, zorder=1.5)
        own = {m: points for m, points in lines.items() if _panel_of(m) == panel}
        others = [[p[:2] for p in points] for m, points in lines.items() if m not in own and points]
        axes.add_collection(LineCollection(others, colors=style.CONTEXT, linewidths=0.8, zorder=1))
        for method, points in own.items():
            _band(axes, points, method.label, filter_dash(results, method), *look(results, method))
        axes.set_xlim(rates[0] - 0.04 * rates[-1], rates[-1] * 1.42)  # leaves room for labels at the right
        axes.set_xticks(rates if len(rates) <= 6 else rates[:: -(-len(rates) // 6)])
        axes.xaxis.set_major_formatter(PercentTicks(1))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="x")
    shared = next(iter(panels.values()))
    shared.set_ylim(top=min(shared.get_ylim()[1], HIGHEST))
    for panel, axes in panels.items():  # the panels share the vertical limits, which are known only now
        own = {m: points for m, points in lines.items() if _panel_of(m) == panel}
        texts = {m: _end(m, list(own)) for m in own}
        ends = [(p[-1][1], texts[m], look(results, m)[0]) for m, p in own.items() if p and texts[m]]
        if ends:
            broken = any("\n" in text for _, text, _ in ends)
            label_ends(
                axes, ends, max(p[-1][0] for p in own.values() if p), gap=min(0.17, 1 / len(ends)) if broken else 0.085
            )
        foot = axes.get_ylim()[0]
        for method, points in own.items():
            empty = sorted(set(asked[method]) - {p[0] for p in points})
            if empty:
                axes.plot(empty, [foot] * len(empty), "x", color=look(results, method)[0], clip_on=False, zorder=5)
    several = len({n for _, n in results.conditions if not is_topline(n)}) > 1
    model = f", {readable(noise)} noise" if several and not is_topline(noise) else ""
    below = noise_axis(noise, results.own_labels) + model
    varied = len({(_panel_of(method), method.positives) for method in lines}) > len(panels)
    named = ["positives"] * varied + ["filters"] * any(method.filter for method in lines)
    _axis_labels(figure, below, " and ".join(named), score_label(key))
    return figure


def _panel_of(method: Method) -> Panel:
    return method.unfiltered.panel, method.negatives


def _end(method: Method, others: list[Method]) -> str:
    """What a line's end says: what tells it from the others of its panel; "" if there are none and no tuples."""
    name = method.filter.partition("(")[0].rstrip()  # in short, unless that names another line too
    if any(m.filter.startswith(name) and m.filter not in ("", method.filter) for m in others if name):
        name = method.filter
    filtered = any(m.filter for m in others)
    if len({m.positives for m in others}) > 1 or not filtered:
        name = ", ".join(filter(None, (method.positives or method.negatives, name)))
    return textwrap.fill(readable(name or ("no filter" if filtered else "")), LETTERS)


def _grid(methods: list[Method]) -> tuple[Figure, dict[Panel, Axes]]:
    """An empty figure, and the axes of each panel: a row per loss if all losses have the same negatives."""
    panels = list(dict.fromkeys(map(_panel_of, methods)))
    losses = list(dict.fromkeys(loss for loss, _ in panels))
    negatives = list(dict.fromkeys(n for _, n in panels))
    columns = min(3, len(panels))
    if len(panels) == len(losses) * len(negatives) and 1 < len(negatives) <= 4:
        panels, columns = [(loss, n) for loss in losses for n in negatives], len(negatives)
    rows = -(-len(panels) // columns)
    named = [dict.fromkeys(map(readable, filter(None, panel))) for panel in panels]  # once, if negatives are the loss's
    titles = ["\n".join(textwrap.wrap(", ".join(names), 32)) for names in named]
    head = 0.1 + 0.17 * max(title.count("\n") + 1 for title in titles)  # inches above each panel
    figure = Figure(figsize=(0.85 + 2.95 * columns, 0.6 + (1.75 + head) * rows))
    width, height = figure.get_size_inches()
    grid = grid_of(figure, len(panels), rows, columns, sharex=True, sharey=True)
    figure.subplots_adjust(0.8 / width, 0.6 / height, 1 - 0.05 / width, 1 - head / height, 0.04, (head + 0.1) / 1.65)
    for axes in grid.flat[max(0, len(panels) - columns) : len(panels)]:
        axes.tick_params(labelbottom=True)
    for axes, title in zip(grid.flat, titles, strict=False):
        axes.set_title(title)
    return figure, dict(zip(panels, grid.flat, strict=False))


def _band(axes: Axes, points: Points, label: str, dashes: str, colour: str, marker: str) -> None:
    if not points:
        return
    rate, mean, low, high = (np.asarray(column, dtype=float) for column in zip(*points, strict=True))
    axes.fill_between(rate, low, high, color=colour, alpha=0.17, linewidth=0, zorder=2)
    axes.plot(rate, mean, dashes, marker=marker, color=colour, label=label, zorder=3)


def _axis_labels(figure: Figure, below: str, lines: str, label: str) -> None:
    width, height = figure.get_size_inches()
    narrow = width < 5  # one panel, whose title says as much
    below += "" if narrow else "   (panels: loss, negatives" + (f"; lines: {lines})" if lines else ")")
    figure.supxlabel(below, color=style.MUTED, fontsize=9, y=0.09 / height, va="bottom")
    beside = "\n".join(textwrap.wrap(label, int(14 * height)))  # 14 letters an inch
    figure.supylabel(beside, color=style.MUTED, fontsize=9, x=0.06 / width, ha="left")
