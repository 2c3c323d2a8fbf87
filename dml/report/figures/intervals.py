"""Every method at one noise rate: a panel per score, with means, 95% intervals, seeds and papers' reference values."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.analysis.reference_values import reference_values_by_cell
from dml.report.figures import style
from dml.report.figures.axes import PercentTicks, grid_of, place
from dml.report.figures.methods import look, short_label
from dml.report.labels import is_topline, metric_label, metric_of, score_label
from dml.report.numbers import rate
from dml.report.results import Results


def intervals(results: Results, frame: pd.DataFrame, cells: Sequence[str], keys: list[str]) -> Figure | None:
    """The figure of cells with one dataset, noise model and rate, or None if none of them has one of the scores.

    Parameters
    ----------
    frame : cell, metric (the label of a key), score mean, score low, score high and score n.
    """
    found = {(row["cell"], row["metric"]): row for row in frame.to_dict("records")}
    keys = [key for key in keys if any((name, score_label(key)) in found for name in cells)]
    if not keys:
        return None
    references = reference_values_by_cell(results)
    columns = min(3, len(keys))
    rows = -(-len(keys) // columns)
    labels = [short_label(results, results.methods[name]) for name in cells]
    beneath = {key: textwrap.wrap(score_label(key).split(", ", 1)[1], 28) for key in keys}
    below = _below(results, cells[0])
    left = 0.2 + style.LETTER * max(map(len, labels))
    head, foot = 0.27, 0.32 + 0.125 * max(map(len, beneath.values()))  # inches above and below each panel
    height = rows * (head + foot + max(0.8, 0.1 + 0.34 * len(cells))) + (0.25 if below else 0.0)
    figure = Figure(figsize=(max(2.2, left - 0.4) + 2.55 * columns, height))
    grid = grid_of(figure, len(keys), rows, columns, sharey=True)
    place(figure, (rows, columns), left, 0.2, head, foot + (0.25 if below else 0.0), (0.25, head + foot))
    for axes, key in zip(grid.flat, keys, strict=False):
        for at, name in enumerate(cells):
            if (name, score_label(key)) in found:
                colour_and_marker = look(results, results.methods[name])
                _row(axes, at, results.values(name, key), found[name, score_label(key)], *colour_and_marker)
            if (name, key) in references:
                axes.plot(references[name, key], at, "D", color=style.PAPER, markeredgecolor=style.INK, markersize=5.5)
        axes.set_title(metric_label(metric_of(key)))
        axes.set_xlabel("\n".join(beneath[key]), fontsize=7.5)
        axes.set_yticks(range(len(cells)), labels)
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12)
    if below:
        figure.supxlabel(below, color=style.MUTED, fontsize=9, y=0.06 / height, va="bottom")
    return figure


def _below(results: Results, name: str) -> str:
    """What all panels show: the noise rate, dataset and noise model, as far as the study has several."""
    cell = results.cells[name]
    what = "of training samples left out" if is_topline(cell.noise) else "of training labels are wrong"
    share = f"{rate(cell.rate)} {what}" if cell.rate else ""
    share = results.level(*cell.noise_level) if results.own_labels and not is_topline(cell.noise) else share
    return ", ".join(filter(None, (share, results.where(cell.dataset, cell.noise).removeprefix(", "))))


def _row(axes: Axes, at: int, values: pd.Series, row: dict[Hashable, Any], colour: str, marker: str) -> None:
    axes.plot(values, [at + 0.24] * len(values), "|", color=colour, alpha=0.55, markersize=5)
    if row["score n"] > 1:
        axes.plot([row["score low"], row["score high"]], [at, at], color=colour, linewidth=2.4, solid_capstyle="butt")
    axes.plot(row["score mean"], at, marker, color=colour, markersize=6)
