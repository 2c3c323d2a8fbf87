"""What happened during training: learning curves."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.figures import PercentTicks, dash, drawn_cells, legend, look, negatives_label, positives_label
from dml.report.labels import Texts, joined, score_label
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Results, parsed
from dml.report.sections._rows import identity

say = Texts(__file__)


class TrainingLog:
    """Learning curves."""

    anchor, title = "training", "Training"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial."""
        return not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        for dataset, noise in results.conditions:
            key, curves = results.objective(dataset), _curves(results, dataset, noise)
            cells, added = drawn_cells(results, list(curves), key)
            ends = say("ends") if results.study.search.stop == "best" else ""
            caption = joined(say("figure", score=score_label(key), where=results.where(dataset, noise)), ends) + added
            rows = [
                identity(results, name) | {"step": step, "score": value}
                for name, curve in curves.items()
                for step, value in curve.items()
            ]
            figure = _panels(results, {cell: curves[cell] for cell in cells}, score_label(key)) if cells else None
            alt = f"{score_label(key)} during training."
            yield Drawing(f"curves-{dataset}-{noise}", figure, pd.DataFrame(rows), alt, caption)


def _curves(results: Results, dataset: str, noise: str) -> dict[str, pd.Series]:
    """For each cell the objective by training step, mean over seeds; nothing if no cell was evaluated twice."""
    key = results.objective(dataset)
    curves: dict[str, pd.Series] = {}
    for name in results.cells_of(dataset, noise):
        runs = []
        for text in results.confirmed_of(name)["curve"]:
            points = {step: 100 * s[key] for step, s in parsed(text) or [] if isinstance(s.get(key), int | float)}
            runs.append(pd.Series(points, dtype=float))
        if max(map(len, runs), default=0) > 1:
            curves[name] = pd.concat(runs, axis=1).sort_index().mean(axis=1)
    return curves


def _panels(results: Results, curves: dict[str, pd.Series], label: str) -> Figure:
    """A panel for each loss (a row) and noise rate; colours for positives and dashes for negatives."""
    methods = {name: results.methods[name] for name in curves}
    rows = list(dict.fromkeys(method.panel for method in methods.values()))
    rates = sorted({results.cells[name].rate for name in curves})
    figure = Figure(figsize=(1.9 + 2.5 * len(rates), 0.9 + 2.0 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), len(rates), sharex=True, sharey=True, squeeze=False)
    for name, method in methods.items():
        axes, rate = grid[rows.index(method.panel), rates.index(results.cells[name].rate)], results.cells[name].rate
        level = f", {results.level(results.cells[name].noise, rate)}" if len(rates) > 1 else ""
        axes.set_title(method.panel + level)
        axes.plot(
            curves[name].index, curves[name], dash(results, method), color=look(results, method)[0], linewidth=1.4
        )
    for axes in grid.flat:
        axes.yaxis.set_major_formatter(PercentTicks(100))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.grid(visible=False, axis="x")
    lines = {positives_label(method): (look(results, method)[0], "", "-") for method in methods.values()}
    dashes = {negatives_label(method) or "no tuples": dash(results, method) for method in methods.values()}
    if len(dashes) > 1:
        lines |= {text: (figures.MUTED, "", line) for text, line in dashes.items()}
    legend(figure, lines)
    figure.supxlabel("training steps", color=figures.MUTED, fontsize=9)
    figure.supylabel(label, color=figures.MUTED, fontsize=9)
    return figure
