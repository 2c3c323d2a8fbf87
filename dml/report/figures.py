"""The figures of a study's scores. Each function returns a figure in the light style, or None: nothing to draw."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from dml.report import style
from dml.report.published import metric_label
from dml.report.reproduction import published_by_cell
from dml.report.results import Results, readable, score_label
from dml.report.robustness import TOPLINE, kept
from dml.report.tables import summary_of


def against_noise(results: Results, dataset: str, noise: str, key: str, of_topline: bool = False) -> Figure | None:
    """Score, or its share of the topline, against noise rate: a panel per loss and negatives, a line per positives.

    Bands are over seeds. The other panels' lines stand in grey behind, so that panels compare. A cross at the foot
    marks a cell of which no seed finished.
    """
    lines = _lines(results, dataset, noise, key, of_topline)
    if not any(points for points in lines.values()):
        return None
    panels, columns = _panels(list(lines))
    rows = -(-len(panels) // columns)
    titles = [_panel_title(panel) for panel in panels]
    head = 0.1 + 0.17 * max(title.count("\n") + 1 for title in titles)  # inches above each panel
    figure = Figure(figsize=(0.85 + 2.95 * columns, 0.6 + (1.75 + head) * rows))
    width, height = figure.get_size_inches()
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    figure.subplots_adjust(0.8 / width, 0.6 / height, 1 - 0.05 / width, 1 - head / height, 0.04, (head + 0.1) / 1.65)
    rates = sorted({cell.rate for cell in results.cells.values() if (cell.dataset, cell.noise) == (dataset, noise)})
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes in grid.flat[max(0, len(panels) - columns) : len(panels)]:
        axes.tick_params(labelbottom=True)
    for axes, panel, title in zip(grid.flat, panels, titles, strict=False):
        others = [[p[:2] for p in points] for m, points in lines.items() if (m[0], m[2]) != panel and points]
        axes.add_collection(LineCollection(others, colors=style.CONTEXT, linewidths=0.8, zorder=1))
        for method, points in lines.items():
            if (method[0], method[2]) == panel:
                _band(axes, points, *style.policy(method[1]))
        axes.set_title(title)
        axes.set_xlim(rates[0] - 0.04 * rates[-1], rates[-1] * 1.42)  # the lines' labels stand at the right
        axes.set_xticks(rates if len(rates) <= 6 else rates[:: -(-len(rates) // 6)])
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(PercentFormatter(100, decimals=0))
        axes.grid(visible=False, axis="x")
    for axes, panel in zip(grid.flat, panels, strict=False):
        drawn = [(m, points) for m, points in lines.items() if (m[0], m[2]) == panel]
        ends = [(p[-1][1], _line_label(m), style.policy(m[1])[0]) for m, p in drawn if p]
        if ends:
            style.label_ends(axes, ends, max(p[-1][0] for _, p in drawn if p))
        foot = axes.get_ylim()[0]
        for method, points in drawn:
            there = {p[0] for p in points}
            lacking = [rate for rate in _asked(results, dataset, noise, method) if rate not in there]
            if lacking:
                axes.plot(
                    lacking, [foot] * len(lacking), "x", color=style.policy(method[1])[0], clip_on=False, zorder=5
                )
    wrong = "share of training samples left out" if noise == TOPLINE else "share of training labels that are wrong"
    wrong += "   (panels: loss, negatives; lines: positives)"
    figure.supxlabel(wrong, color=style.MUTED, fontsize=9, y=0.09 / height, va="bottom")
    figure.supylabel(
        metric_label(key.split("/", 2)[2]) + ", share of the topline" if of_topline else score_label(key),
        color=style.MUTED,
        fontsize=9,
        x=0.08 / width,
        ha="left",
    )
    return figure


def intervals(results: Results, dataset: str, noise: str, rate: float, keys: list[str]) -> Figure | None:
    """Every method at one noise rate: a panel per score, mean and 95% interval, each seed, and what is published."""
    cells = [name for name, c in results.cells.items() if (c.dataset, c.noise, c.rate) == (dataset, noise, rate)]
    keys = [key for key in keys if any(len(results.values(name, key)) for name in cells)]
    if not keys or not cells:
        return None
    known = published_by_cell(results)
    columns = min(3, len(keys))
    rows = -(-len(keys) // columns)
    height = max(1.15, 0.42 + 0.34 * len(cells))
    figure = Figure(figsize=(2.2 + 2.55 * columns, 0.45 + height * rows + 0.35 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes in grid.flat[len(keys) :]:
        axes.set_axis_off()
    for axes, key in zip(grid.flat, keys, strict=False):
        for place, name in enumerate(cells):
            values = results.values(name, key)
            colour, marker = style.policy(results.methods[name].positives)
            s = summary_of(values, "s")
            axes.plot(values, [place + 0.24] * len(values), "|", color=colour, alpha=0.55, markersize=5)
            if s["s n"] > 1:
                axes.plot([s["s low"], s["s high"]], [place, place], color=colour, linewidth=2.4, solid_capstyle="butt")
            axes.plot(s["s mean"], place, marker, color=colour, markersize=6)
            if (name, key) in known:
                axes.plot(known[name, key], place, "D", color=style.PAPER, markeredgecolor=style.INK, markersize=5.5)
        axes.set_title(metric_label(key.split("/", 2)[2]))
        axes.set_xlabel(score_label(key).split(", ", 1)[1], fontsize=7.5)
        axes.set_yticks(range(len(cells)), [row_label(results, name) for name in cells])
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(PercentFormatter(100, decimals=0))
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12)
    return figure


def row_label(results: Results, name: str) -> str:
    """A method without what all methods of the study share."""
    method, every = results.methods[name], list(results.methods.values())
    parts = [
        readable(getattr(method, axis)) + ("" if axis == "loss" else f" {axis}")
        for axis in ("loss", "positives", "negatives")
        if getattr(method, axis) and len({getattr(m, axis) for m in every}) > 1
    ]
    return ", ".join(parts) or method.label


def _lines(
    results: Results, dataset: str, noise: str, key: str, of_topline: bool
) -> dict[tuple[str, str, str], list[tuple[float, ...]]]:
    """(rate, mean, low, high) of each (loss, positives, negatives), by rate."""
    lines: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
    for name, cell in results.cells.items():
        if (cell.dataset, cell.noise) != (dataset, noise):
            continue
        method = results.methods[name]
        points = lines.setdefault((method.loss, method.positives, method.negatives), [])
        values = kept(results, name, key) if of_topline else results.values(name, key)
        s = summary_of(values, "s")
        if s["s n"]:
            points.append((cell.rate, s["s mean"], s["s low"], s["s high"]))
    return {method: sorted(points) for method, points in lines.items()}


def _asked(results: Results, dataset: str, noise: str, method: tuple[str, str, str]) -> list[float]:
    found = []
    for name, cell in results.cells.items():
        m = results.methods[name]
        if (cell.dataset, cell.noise, m.loss, m.positives, m.negatives) == (dataset, noise, *method):
            found.append(cell.rate)
    return found


def _panels(methods: list[tuple[str, str, str]]) -> tuple[list[tuple[str, str]], int]:
    """The panels in order, and how many stand in a row: a row per loss where each loss has the same negatives."""
    panels = list(dict.fromkeys((loss, negatives) for loss, _, negatives in methods))
    losses = list(dict.fromkeys(loss for loss, _ in panels))
    negatives = list(dict.fromkeys(n for _, n in panels))
    if len(panels) == len(losses) * len(negatives) and 1 < len(negatives) <= 4:
        return [(loss, n) for loss in losses for n in negatives], len(negatives)
    return panels, min(3, len(panels))


def _panel_title(panel: tuple[str, str]) -> str:
    loss, negatives = panel
    return "\n".join(textwrap.wrap(readable(f"{loss}, {negatives}" if negatives else loss), 32))


def _line_label(method: tuple[str, str, str]) -> str:
    return readable(method[1]) or "no mining"


def _band(axes: Axes, points: list[tuple[float, ...]], colour: str, marker: str) -> None:
    if not points:
        return
    rate, mean, low, high = (np.asarray(column, dtype=float) for column in zip(*points, strict=True))
    axes.fill_between(rate, low, high, color=colour, alpha=0.17, linewidth=0, zorder=2)
    axes.plot(rate, mean, marker=marker, color=colour, zorder=3)
