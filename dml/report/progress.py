"""What happened on the way: learning curves, and the history of each search.

Colours are the positives, dashes the negatives; a panel per loss and noise rate.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from dml.report import style
from dml.report.results import Results, parsed, readable, score_label

WIDE = 4  # panels in a row, at most, unless there are more in either direction


def learning_curves(results: Results, dataset: str, noise: str) -> Figure | None:
    """The objective against training steps: the mean over seeds of each cell."""
    key = results.objective(dataset)
    curves: dict[str, pd.Series] = {}
    for name in _cells(results, dataset, noise):
        runs = []
        for text in results.confirmed.loc[results.confirmed["cell"] == name, "curve"]:
            points = {step: 100 * s[key] for step, s in parsed(text) or [] if isinstance(s.get(key), int | float)}
            runs.append(pd.Series(points, dtype=float))
        if runs and max(map(len, runs)) > 1:
            curves[name] = pd.concat(runs, axis=1).sort_index().mean(axis=1)
    if not curves:
        return None
    figure, panels = _grid(results, list(curves))
    for name, mean in curves.items():
        panels[name].plot(mean.index, mean, _dash(results, name), color=_shade(results, name), linewidth=1.4)
    figure.supxlabel("training steps", color=style.MUTED, fontsize=9)
    figure.supylabel(score_label(key), color=style.MUTED, fontsize=9)
    return figure


def searches(results: Results, dataset: str, noise: str) -> Figure | None:
    """Each tuning trial's validation score (points) and the best so far (lines)."""
    rows = results.tuned[results.tuned["objective"].notna()]
    trials = {name: rows[rows["cell"] == name] for name in _cells(results, dataset, noise)}
    trials = {name: found for name, found in trials.items() if len(found)}
    if not trials or max(map(len, trials.values())) < 2:
        return None
    figure, panels = _grid(results, list(trials))
    for name, found in trials.items():
        shade, marker = style.policy(results.methods[name].positives)
        number, score = found["number"] + 1, 100 * found["objective"]
        panels[name].plot(number, score, marker, color=shade, alpha=0.35, markersize=3)
        panels[name].plot(number, score.cummax(), _dash(results, name), color=shade, linewidth=1.3)
    figure.supxlabel("trial", color=style.MUTED, fontsize=9)
    figure.supylabel(score_label(results.objective(dataset, "validation")), color=style.MUTED, fontsize=9)
    return figure


def _cells(results: Results, dataset: str, noise: str) -> list[str]:
    return [name for name, cell in results.cells.items() if (cell.dataset, cell.noise) == (dataset, noise)]


def _grid(results: Results, names: list[str]) -> tuple[Figure, dict[str, Axes]]:
    """An empty figure with its legend, and the axes of each cell: losses by rates, whichever way is less wide."""
    losses = list(dict.fromkeys(results.methods[name].loss for name in names))
    rates = sorted({results.cells[name].rate for name in names})
    across = len(rates) <= WIDE or len(rates) < len(losses)  # rates stand side by side
    rows, columns = (len(losses), len(rates)) if across else (len(rates), len(losses))
    figure = Figure(figsize=(1.9 + 2.5 * columns, 0.9 + 2.0 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    places = {}
    for i, loss in enumerate(losses):
        for j, rate in enumerate(rates):
            axes = grid[i, j] if across else grid[j, i]
            places[loss, rate] = axes
            axes.set_title(f"{readable(loss)}, {rate:.0%} noise" if len(rates) > 1 else readable(loss))
            axes.yaxis.set_major_formatter(PercentFormatter(100, decimals=0))
            axes.yaxis.set_major_locator(MaxNLocator(5))
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.grid(visible=False, axis="x")
    _legend(figure, results, names)
    return figure, {name: places[results.methods[name].loss, results.cells[name].rate] for name in names}


def _shade(results: Results, name: str) -> str:
    return style.policy(results.methods[name].positives)[0]


def _dash(results: Results, name: str) -> str:
    negatives = list(dict.fromkeys(method.negatives for method in results.methods.values()))
    return dict(zip(negatives, ("-", "--", ":", "-."), strict=False)).get(results.methods[name].negatives, "-")


def _legend(figure: Figure, results: Results, names: list[str]) -> None:
    """Colours for positives, dashes for negatives, above the panels."""
    axes = figure.axes[0]
    of = {name: results.methods[name] for name in names}
    positives = {method.positives: _shade(results, name) for name, method in of.items()}
    negatives = {method.negatives: _dash(results, name) for name, method in of.items()}
    handles = [axes.plot([], [], color=c, label=f"{readable(p) or 'no'} positives")[0] for p, c in positives.items()]
    if len(negatives) > 1:
        handles += [
            axes.plot([], [], dash, color=style.MUTED, label=f"{readable(n) or 'no'} negatives")[0]
            for n, dash in negatives.items()
        ]
    columns = max(2, round(figure.get_size_inches()[0] / 2.4))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5)
