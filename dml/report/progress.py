"""What happened on the way: learning curves, and the history of each search."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from dml.report import style
from dml.report.results import Results, parsed, readable, score_label


def learning_curves(results: Results, dataset: str, noise: str) -> Figure | None:
    """The objective against training steps: a panel per noise rate and loss, a line per policies, mean over seeds."""
    key = results.objective(dataset)
    curves: dict[str, pd.DataFrame] = {}
    for name, cell in results.cells.items():
        if (cell.dataset, cell.noise) != (dataset, noise):
            continue
        runs = []
        for text in results.confirmed.loc[results.confirmed["cell"] == name, "curve"]:
            points = {step: 100 * s[key] for step, s in parsed(text) or [] if isinstance(s.get(key), int | float)}
            runs.append(pd.Series(points, dtype=float))
        if runs and max(map(len, runs)) > 1:
            curves[name] = pd.concat(runs, axis=1).sort_index()
    if not curves:
        return None
    losses = list(dict.fromkeys(results.methods[name].loss for name in curves))
    rates = sorted({results.cells[name].rate for name in curves})
    figure = Figure(figsize=(1.9 + 2.5 * len(rates), 0.7 + 2.1 * len(losses)), layout="constrained")
    grid = figure.subplots(len(losses), len(rates), sharex=True, sharey=True, squeeze=False)
    for name, frame in curves.items():
        method = results.methods[name]
        axes = grid[losses.index(method.loss), rates.index(results.cells[name].rate)]
        dash = _dashes(results).get(method.negatives, "-")
        mean = frame.mean(axis=1)
        axes.plot(mean.index, mean, dash, color=style.policy(method.positives)[0], linewidth=1.4)
    for row, loss in enumerate(losses):
        for column, rate in enumerate(rates):
            axes = grid[row, column]
            axes.set_title(f"{readable(loss)}, {rate:.0%} noise" if len(rates) > 1 else readable(loss))
            axes.yaxis.set_major_formatter(PercentFormatter(100, decimals=0))
            axes.yaxis.set_major_locator(MaxNLocator(5))
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.grid(visible=False, axis="x")
    _legend(figure, results, list(curves))
    figure.supxlabel("training steps", color=style.MUTED, fontsize=9)
    figure.supylabel(score_label(key), color=style.MUTED, fontsize=9)
    return figure


def searches(results: Results, dataset: str) -> Figure | None:
    """The search's history: each trial's validation score, and the best so far, a panel per loss and noise rate."""
    rows = results.tuned[(results.tuned["dataset"] == dataset) & results.tuned["objective"].notna()]
    names = [name for name in results.cells if name in set(rows["cell"])]
    if not names or rows.groupby("cell").size().max() < 2:
        return None
    losses = list(dict.fromkeys(results.methods[name].loss for name in names))
    rates = sorted({results.cells[name].rate for name in names})
    figure = Figure(figsize=(1.9 + 2.5 * len(rates), 0.7 + 2.1 * len(losses)), layout="constrained")
    grid = figure.subplots(len(losses), len(rates), sharex=True, sharey=True, squeeze=False)
    for name in names:
        method = results.methods[name]
        axes = grid[losses.index(method.loss), rates.index(results.cells[name].rate)]
        trials = rows[rows["cell"] == name]
        shade, marker = style.policy(method.positives)
        axes.plot(trials["number"] + 1, 100 * trials["objective"], marker, color=shade, alpha=0.35, markersize=3)
        dash = _dashes(results).get(method.negatives, "-")
        axes.plot(trials["number"] + 1, 100 * trials["objective"].cummax(), dash, color=shade, linewidth=1.3)
    for row, loss in enumerate(losses):
        for column, rate in enumerate(rates):
            axes = grid[row, column]
            axes.set_title(f"{readable(loss)}, {rate:.0%} noise" if len(rates) > 1 else readable(loss))
            axes.yaxis.set_major_formatter(PercentFormatter(100, decimals=0))
            axes.yaxis.set_major_locator(MaxNLocator(5))
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.grid(visible=False, axis="x")
    _legend(figure, results, names)
    figure.supxlabel("trial", color=style.MUTED, fontsize=9)
    figure.supylabel(score_label(results.objective(dataset, "validation")), color=style.MUTED, fontsize=9)
    return figure


def _dashes(results: Results) -> dict[str, str]:
    negatives = list(dict.fromkeys(method.negatives for method in results.methods.values()))
    return dict(zip(negatives, ("-", "--", ":", "-."), strict=False))


def _legend(figure: Figure, results: Results, names: list[str]) -> None:
    """Colours for positives, dashes for negatives, above the panels."""
    positives = list(dict.fromkeys(results.methods[name].positives for name in names))
    negatives = list(dict.fromkeys(results.methods[name].negatives for name in names))
    axes = figure.axes[0]
    handles = [
        axes.plot([], [], color=style.policy(p)[0], label=f"{readable(p) or 'no'} positives")[0] for p in positives
    ]
    if len(negatives) > 1:
        dashes = _dashes(results)
        handles += [
            axes.plot([], [], dashes.get(n, "-"), color=style.MUTED, label=f"{readable(n) or 'no'} negatives")[0]
            for n in negatives
        ]
    figure.legend(handles=handles, loc="outside upper left", ncols=min(4, len(handles)), frameon=False, fontsize=8.5)
