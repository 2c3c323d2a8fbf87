"""All scores: a table per evaluated set and level, and each score against the noise rate."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.analysis.intervals import summary_at
from dml.report.analysis.untrained import untrained
from dml.report.best_methods import drawn_cells
from dml.report.figures import PercentTicks, filter_dash, grid_of, label_ends, look
from dml.report.labels import Texts, group_label, is_topline, metric_label, metric_of, noise_axis, readable, score_label
from dml.report.methods import Method
from dml.report.page.blocks import Block, Column, Drawing, Folded, Table
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns, interval_note, means, score_frame
from dml.types import VALIDATION, ScoreKey

Points = list[tuple[float, float, float, float]]  # (rate, mean, low, high), by rate
Panel = tuple[str, str]  # loss with the settings that vary, negatives
HIGHEST = 101  # of the vertical axis: no score exceeds 100%, and its marker needs room
LETTERS = 11  # of a label at the end of a line; a longer one is broken


def against_noise(results: Results, dataset: str, noise: str, key: str) -> tuple[Figure | None, pd.DataFrame, str]:
    """A score against the noise rate: the figure, or None if no cell has a value; its data, and what its caption adds.

    Bands are 95% intervals over seeds. Each panel shows the lines of the other panels in grey, for comparison. A cross
    on the axis marks a cell without a finished seed. A dotted line is the best score without training.
    """
    names, added = drawn_cells(results, results.cells_of(dataset, noise), key)
    frame = score_frame(results, names, [key])
    if frame.empty:
        return None, frame, added
    asked: dict[Method, list[float]] = {}
    for name in names:
        asked.setdefault(results.methods[name], []).append(results.cells[name].rate)
    lines: dict[Method, Points] = {method: [] for method in asked}
    for row in frame.sort_values("rate", kind="stable").to_dict("records"):
        point = row["rate"], row["score mean"], row["score low"], row["score high"]
        lines[results.methods[row["cell"]]].append(point)
    figure, panels = _grid(list(lines))
    rates = results.rates(dataset, noise)
    bests = {rate: untrained(results, dataset, noise, rate, key) for rate in rates}
    alone = {rate: best.score for rate, best in bests.items() if best is not None}
    for panel, axes in panels.items():
        if alone:
            axes.plot(list(alone), list(alone.values()), ":", color=figures.MUTED, linewidth=1.0, zorder=1.5)
        own = {m: points for m, points in lines.items() if _panel_of(m) == panel}
        others = [[p[:2] for p in points] for m, points in lines.items() if m not in own and points]
        axes.add_collection(LineCollection(others, colors=figures.CONTEXT, linewidths=0.8, zorder=1))
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
    return figure, frame, added


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
    figure.supxlabel(below, color=figures.MUTED, fontsize=9, y=0.09 / height, va="bottom")
    beside = "\n".join(textwrap.wrap(label, int(14 * height)))  # 14 letters an inch
    figure.supylabel(beside, color=figures.MUTED, fontsize=9, x=0.06 / width, ha="left")


say = Texts(__file__)

OPEN = 3  # datasets and noise models whose figures are not folded once more, at most


class AllResults:
    """Every cell and every score."""

    anchor, title = "results", "All results"

    def applies(self, results: Results) -> bool:
        """At least one confirmed score."""
        return bool(results.score_keys)

    def content(self, results: Results) -> Iterator[Block | None]:
        """The tables, then a folded figure for each score but the objective."""
        yield from main_results(results)
        for dataset, noise in results.conditions:
            if len(results.rates(dataset, noise)) > 1:
                keys = [key for key in results.score_keys if ScoreKey.parse(key).set != VALIDATION]
                figures = tuple(_drawing(results, dataset, noise, k) for k in keys if k != results.objective(dataset))
                if len(results.conditions) > OPEN and figures:
                    yield Folded(f"Other scores, against noise{results.where(dataset, noise)}", figures)
                else:
                    yield from figures


def main_results(results: Results) -> list[Table]:
    """One table per set and level: a row per cell, a column per metric."""
    groups: dict[str, list[str]] = {}
    for key in results.score_keys:
        groups.setdefault(ScoreKey.parse(key).group, []).append(key)
    tables, states = [], _states(results)
    for group, keys in groups.items():
        rows = []
        for name in results.cells:
            row = identity(results, name)
            for key in keys:
                row |= summary_at(results, name, key, metric_of(key))
            rows.append(row | {"state": states[name], "cell": name})
        scores = [Column(metric_of(key), metric_label(metric_of(key)), "score") for key in keys]
        columns = [*identity_columns(results), *scores]
        if results.missing():
            columns.append(Column("state", "Seeds", "status", "finished seeds of those the study asks for"))
        caption = say("table", shown=interval_note(results, keys))
        name = f"results-{group.replace('/', '-')}"
        tables.append(Table(name, group_label(keys[0]), caption, tuple(columns), pd.DataFrame(rows)))
    return tables


def _drawing(results: Results, dataset: str, noise: str, key: str) -> Folded:
    label, where = score_label(key), results.where(dataset, noise)
    name = "-".join(["noise", dataset, noise, *ScoreKey.parse(key)])
    alt = f"{label} against the label-noise rate{where}."
    figure, data, added = against_noise(results, dataset, noise, key)
    caption = say("figure", score=label, where=where, means=means(results, [key])) + added
    drawing = Drawing(name, figure, data, alt, caption)
    return Folded(f"{label}, against noise{where}", (drawing,))


def _states(results: Results) -> dict[str, str]:
    """`2 of 3, 1 failed`: of each cell its finished seeds."""
    failed = Counter(results.failures.loc[results.failures["phase"] == "confirm", "cell"])
    done = Counter(results.confirmed["cell"])
    return {
        name: f"{done[name]} of {len(results.study.seeds) * results.study.splits}"
        + (f", {failed[name]} failed" if failed[name] else "")
        for name in results.cells
    }
