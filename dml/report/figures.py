"""The figures of a study. Each function returns a matplotlib figure in the light style, or None: nothing to draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from dml.report import style
from dml.report.published import lookup, metric_label
from dml.report.results import Results, parsed, readable, score_label
from dml.report.tables import matching, summary_of

POINTS = 2500  # at most, in one panel of a plane


def against_noise(results: Results, dataset: str, noise: str, key: str) -> Figure | None:
    """Score against noise rate: a panel per loss and negatives, a line per positives, bands over seeds.

    The other panels' lines stand in grey behind, so that panels compare. A cross at the foot marks a cell of which no
    seed finished.
    """
    lines = _lines(results, dataset, noise, key)
    if not any(points for points in lines.values()):
        return None
    panels, columns = _panels(list(lines))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(2.0 + 2.55 * columns, 0.75 + 2.15 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    rates = sorted({cell.rate for cell in results.cells.values() if (cell.dataset, cell.noise) == (dataset, noise)})
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(grid.flat, panels, strict=False):
        for method, points in lines.items():
            if (method[0], method[2]) != panel:
                axes.plot([p[0] for p in points], [p[1] for p in points], color=style.CONTEXT, linewidth=0.8, zorder=1)
        for method, points in lines.items():
            if (method[0], method[2]) == panel:
                _band(axes, points, *style.policy(method[1]))
        axes.set_title(_panel_title(panel))
        axes.set_xlim(rates[0] - 0.04 * rates[-1], rates[-1] * 1.42)  # the lines' labels stand at the right
        axes.set_xticks(rates if len(rates) <= 6 else rates[:: -(-len(rates) // 6)])
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(PercentFormatter(100, decimals=0))
        axes.grid(visible=False, axis="x")
    figure.draw_without_rendering()
    for axes, panel in zip(grid.flat, panels, strict=False):
        drawn = [(m, points) for m, points in lines.items() if (m[0], m[2]) == panel]
        ends = [(p[-1][1], _line_label(m), style.policy(m[1])[0]) for m, p in drawn if p]
        if ends:
            style.label_ends(axes, ends, max(p[-1][0] for _, p in drawn if p))
        foot = axes.get_ylim()[0]
        for method, points in drawn:
            there = {p[0] for p in points}
            lacking = [rate for rate in _asked(results, dataset, noise, method) if rate not in there]
            if lacking:  # an empty line that is not clipped would upset the layout
                axes.plot(
                    lacking, [foot] * len(lacking), "x", color=style.policy(method[1])[0], clip_on=False, zorder=5
                )
    figure.supxlabel("share of training labels that are wrong", color=style.MUTED, fontsize=9)
    figure.supylabel(score_label(key), color=style.MUTED, fontsize=9)
    return figure


def intervals(results: Results, dataset: str, noise: str, rate: float, keys: list[str]) -> Figure | None:
    """Every method at one noise rate: a panel per score, mean and 95% interval, each seed, and what is published."""
    cells = [name for name, c in results.cells.items() if (c.dataset, c.noise, c.rate) == (dataset, noise, rate)]
    keys = [key for key in keys if any(len(results.values(name, key)) for name in cells)]
    if not keys or not cells:
        return None
    known = _published(results)
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
        axes.set_yticks(range(len(cells)), [_row_label(results, name) for name in cells])
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(PercentFormatter(100, decimals=0))
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12)
    return figure


def planes(results: Results, store: Path) -> Figure | None:
    """The plane of 2-d embeddings of each method side by side, each class in a colour (EPS paper, figure 2).

    Reads `<store>/trials/<key>/embeddings.npz` of the first confirmed seed that has one; None where no cell has.
    """
    found = []
    for name in results.cells:
        for key in results.confirmed.loc[results.confirmed["cell"] == name, "key"]:
            path = store / "trials" / str(key) / "embeddings.npz"
            if path.is_file():
                with np.load(path, allow_pickle=False) as file:
                    content = {k: file[k] for k in ("embeddings", "labels_fine", "set")}
                if content["embeddings"].ndim == 2 and content["embeddings"].shape[1] == 2:
                    found.append((name, content))
                break
    if not found:
        return None
    parts = sorted(
        {str(p) for _, c in found for p in np.unique(c["set"])},
        key=lambda p: ("seen", "test").index(p) if p in ("seen", "test") else 2,
    )
    figure = Figure(figsize=(3.9 * len(found), 0.4 + 3.6 * len(parts)), layout="constrained")
    grid = figure.subplots(len(parts), len(found), squeeze=False)
    classes = sorted({int(v) for _, c in found for v in np.unique(c["labels_fine"])})
    for column, (name, content) in enumerate(found):
        for row, part in enumerate(parts):
            axes = grid[row, column]
            _plane(axes, content, part, classes)
            if row == 0:
                axes.set_title(_row_label(results, name).replace("\n", ", "))
            if column == 0:
                axes.set_ylabel({"seen": "training digits", "test": "new digits"}.get(part, part))
    return figure


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


def _lines(results: Results, dataset: str, noise: str, key: str) -> dict[tuple[str, str, str], list[tuple[float, ...]]]:
    """(rate, mean, low, high) of each (loss, positives, negatives), by rate."""
    lines: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
    for name, cell in results.cells.items():
        if (cell.dataset, cell.noise) != (dataset, noise):
            continue
        method = results.methods[name]
        points = lines.setdefault((method.loss, method.positives, method.negatives), [])
        s = summary_of(results.values(name, key), "s")
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
    return readable(loss if not negatives else f"{loss}, {negatives}")


def _line_label(method: tuple[str, str, str]) -> str:
    return readable(method[1]) or "no mining"


def _band(axes: Axes, points: list[tuple[float, ...]], colour: str, marker: str) -> None:
    if not points:
        return
    rate, mean, low, high = (np.asarray(column, dtype=float) for column in zip(*points, strict=True))
    axes.fill_between(rate, low, high, color=colour, alpha=0.17, linewidth=0, zorder=2)
    axes.plot(rate, mean, marker=marker, color=colour, zorder=3)


def _row_label(results: Results, name: str) -> str:
    """A method without what all methods of the study share."""
    method, every = results.methods[name], list(results.methods.values())
    parts = [
        readable(getattr(method, axis)) + ("" if axis == "loss" else f" {axis}")
        for axis in ("loss", "positives", "negatives")
        if getattr(method, axis) and len({getattr(m, axis) for m in every}) > 1
    ]
    return ", ".join(parts) or method.label


def _published(results: Results) -> dict[tuple[str, str], float]:
    """Published values by cell and score key."""
    spelt = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    found = {}
    for spec in results.study.published:
        for metric, value in lookup(spec).items():
            for name in matching(results, spec) if metric in spelt else []:
                found[name, f"{spec.set}/{spec.level}/{spelt[metric]}"] = value
    return found


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


def _plane(axes: Axes, content: dict[str, np.ndarray], part: str, classes: list[int]) -> None:
    chosen = np.flatnonzero(content["set"] == part)
    chosen = chosen[:: max(1, -(-len(chosen) // POINTS))]
    points, labels = content["embeddings"][chosen], content["labels_fine"][chosen]
    for place, label in enumerate(classes):
        mine = points[labels == label]
        if not len(mine):
            continue
        axes.plot(*mine.T, ".", color=style.colour(place), markersize=2.2, alpha=0.6, rasterized=True)
        text = axes.text(
            float(np.median(mine[:, 0])),
            float(np.median(mine[:, 1])),
            str(label),
            color=style.colour(place),
            fontsize=12,
            weight="bold",
            ha="center",
            va="center",
        )
        text.set_path_effects([patheffects.withStroke(linewidth=3, foreground=style.PAPER)])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(style.GRID)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)
