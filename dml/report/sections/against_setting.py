"""Each score against each setting that varies.

A score against a setting that varies: a line per method, a panel per combination of the other settings that vary.

Methods without the setting are dashed horizontal lines.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter, NullLocator

from dml.report import figures
from dml.report.best_methods import drawn_cells
from dml.report.figures import PercentTicks, grid_of, short_label
from dml.report.labels import Texts, score_label, value_label
from dml.report.methods import Method, setting_labels
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Drawing, Folded
from dml.report.results import Results
from dml.report.sections._rows import means, score_frame
from dml.types import VALIDATION, ScoreKey

Line = dict[int | None, str]  # position on the axis, None for a method without the setting -> name of the cell
LETTERS = 36  # of a label, beside a panel
WIDTH, LETTER = 2.4, 0.07  # inches: of a panel's axis, and of a letter below it
NAME, ROW, SHORT = 0.065, 0.2, 3  # inches of a letter and of a row of the legend; rows that fit without more height
CLOSEST = 0.06  # of an axis, between two labels of values
EQUAL_STEPS = 1.6  # largest ratio of two steps between logarithms, for values that are called geometric


def against_setting(results: Results, frame: pd.DataFrame, axis: str) -> Figure | None:
    """The figure, or None if no cell has a value. Bands are 95% intervals over seeds.

    Parameters
    ----------
    frame : cell, metric, score mean, score low and score high; of one dataset, noise model, rate and score.
    axis : of the study's `grid`.
    """
    panels = _lines(results, [] if frame.empty else frame["cell"], axis)
    if not panels:
        return None
    points, scores = results.study.axes[axis], frame.set_index("cell")
    positions, logarithmic = _positions(points)
    methods = list(dict.fromkeys(method for lines in panels.values() for method in lines))
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    names = [short_label(results, method) for method in methods]
    widest = 0.5 + NAME * max(map(len, names))
    width = max(1.4 + 2.9 * columns, widest if len(methods) > 1 else 0)
    entries = int(width / widest) or 1  # of a row of the legend
    height = 1.2 + 2.2 * rows + ROW * max(0, -(-len(methods) // entries) - SHORT)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = grid_of(figure, len(panels), rows, columns, sharex=True, sharey=True)
    for axes, (title, lines) in zip(grid.flat, panels.items(), strict=False):
        axes.set_title("\n".join(textwrap.wrap(title, 40)))
        for method, line in lines.items():
            _draw(axes, scores, line, positions, method.label, *figures.colour_and_marker(methods.index(method)))
        _ticks(axes, points, positions, logarithmic)
        axes.tick_params(labelbottom=True)
    if len(methods) > 1:
        level = {m: all(set(lines.get(m, {None})) == {None} for lines in panels.values()) for m in methods}
        handles = [
            _handle(grid[0, 0], *figures.colour_and_marker(i), names[i], level[m]) for i, m in enumerate(methods)
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=entries, frameon=False, fontsize=8.5)
    figure.supxlabel(_axis_label(points), color=figures.MUTED, fontsize=9)
    beside = textwrap.wrap(frame["metric"].iloc[0], rows * LETTERS)
    write = grid[0, 0].set_ylabel if rows == 1 else figure.supylabel  # the latter is beside the legend too
    write("\n".join(beside), color=figures.MUTED, fontsize=9)
    return figure


def _lines(results: Results, names: Iterable[str], axis: str) -> dict[str, dict[Method, Line]]:
    """The cells of each panel and line, those that have the setting."""
    points = results.study.axes[axis]
    own = {name for point in points for name in point}
    found: dict[str, dict[Method, Line]] = {}
    labels = setting_labels(results.varied)
    for name in names:
        grid_point = results.cells[name].grid_point
        place = next((i for i, point in enumerate(points) if _agree(grid_point, point, own)), None)
        if place is None and own & set(grid_point):
            continue
        others = {k: v for k, v in results.cells[name].further.items() if k in labels and k not in own}
        title = ", ".join(f"{labels[k]} {value_label(v)}" for k, v in others.items())
        missing = [label for k, label in labels.items() if k not in own and k not in others]
        title = ", ".join(filter(None, (title, *(f"no {label}" for label in missing))))
        found.setdefault(title, {}).setdefault(results.methods[name].bare, {})[place] = name
    return {title: lines for title, lines in found.items() if any(set(line) != {None} for line in lines.values())}


def _agree(grid_point: Any, point: dict[str, Any], own: set[str]) -> bool:
    """Whether a cell is at this point of an axis; a cell without any setting of the axis is at none."""
    shared = own & set(grid_point)
    return bool(shared) and all(grid_point[k] == point.get(k) for k in shared)


def _draw(
    axes: Axes, scores: pd.DataFrame, line: Line, positions: list[float], label: str, colour: str, marker: str
) -> None:
    if None in line:
        level = scores.loc[line[None]]
        axes.axhspan(level["score low"], level["score high"], color=colour, alpha=0.08, linewidth=0)
        axes.axhline(level["score mean"], color=colour, linestyle="--", linewidth=1.2, label=label)
    places = {positions[i]: name for i, name in line.items() if i is not None}
    if not places:
        return
    order = sorted(places)
    own = scores.loc[[places[x] for x in order]]
    axes.fill_between(order, own["score low"], own["score high"], color=colour, alpha=0.17, linewidth=0)
    axes.plot(order, own["score mean"], marker=marker, color=colour, label=label)


def _positions(points: list[dict[str, Any]]) -> tuple[list[float], bool]:
    """Where each value of an axis is, and whether the axis is logarithmic; values that are not numbers in turn."""
    values = [next(iter(point.values())) for point in points]
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in values) or len(set(values)) < len(values):
        return [float(i) for i in range(len(values))], False
    ordered = np.sort(np.array(values, dtype=float))
    if len(values) < 3 or ordered[0] <= 0:
        return [float(v) for v in values], False
    steps, differences = np.diff(np.log(ordered)), np.diff(ordered)
    even = differences.max() / differences.min() <= EQUAL_STEPS
    closest = differences.min() / differences.sum()  # as shares of the axis
    crowded = closest < CLOSEST < steps.min() / steps.sum()
    return [float(v) for v in values], bool(not even and (crowded or steps.max() / steps.min() <= EQUAL_STEPS))


def _ticks(axes: Axes, points: list[dict[str, Any]], positions: list[float], logarithmic: bool) -> None:
    if logarithmic:
        axes.set_xscale("log")
    texts = _names(points)
    axes.xaxis.set_major_locator(FixedLocator(positions))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    along = np.sort(np.log(positions) if logarithmic else positions)
    room = WIDTH * np.diff(along).min() / np.ptp(along) if len(along) > 1 else WIDTH
    axes.set_xticks(positions, texts, rotation=0 if LETTER * max(map(len, texts)) < room else 60)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(PercentTicks(100))
    axes.grid(visible=False, axis="x")
    axes.margins(x=0.06)


def _tick(value: Any) -> str:
    """A setting's value; of a start, its study, since a name with the cell leaves no room for the figure."""
    return str(value["study"]) if isinstance(value, Mapping) and "study" in value else value_label(value)


def _names(points: list[dict[str, Any]]) -> list[str]:
    """The values of an axis: of its first setting, with those of the others where that does not tell them apart."""
    first, *others = _varied(points)
    names = [_tick(point[first]) for point in points]
    if len(set(names)) == len(names):
        return names
    return [", ".join(value_label(point.get(k, "")) for k in (first, *others)) for point in points]


def _axis_label(points: list[dict[str, Any]]) -> str:
    """`per class (with classes 80, 40, 20)`, or `wrong, share` where each value is named by both."""
    labels = setting_labels(points[0])
    first, *others = _varied(points)
    if _names(points) != [_tick(point[first]) for point in points]:
        return ", ".join(labels[k] for k in (first, *others))
    texts = [f"{labels[k]} {', '.join(value_label(p.get(k, '')) for p in points)}" for k in others]
    return labels[first] + (f"   (with {'; '.join(texts)})" if texts else "")


def _varied(points: list[dict[str, Any]]) -> list[str]:
    """The settings of an axis: the first, and of the others those that vary."""
    first, *others = points[0]
    return [first, *(k for k in others if len({value_label(p.get(k, "")) for p in points}) > 1)]


def _handle(axes: Axes, colour: str, marker: str, label: str, level: bool) -> Any:
    look = {"linestyle": "--", "linewidth": 1.2} if level else {"marker": marker}
    return axes.plot([], [], color=colour, label=label, **look)[0]


say = Texts(__file__)


class AgainstSetting:
    """A figure for each axis of `grid`."""

    anchor, title = "settings-varied", "What the settings change"

    def applies(self, results: Results) -> bool:
        """At least one setting varies, and at least one trial is confirmed."""
        return bool(results.study.grid) and not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """The objective against each setting; the other scores folded."""
        for axis in results.study.axes:
            for dataset, noise in results.conditions:
                objective = results.objective(dataset)
                for rate in results.rates(dataset, noise):
                    yield _drawing(results, dataset, noise, rate, axis, objective)
                others = [k for k in results.score_keys if k != objective and ScoreKey.parse(k).set != VALIDATION]
                for key in others:
                    drawing = _drawing(results, dataset, noise, results.rates(dataset, noise)[0], axis, key)
                    if drawing.figure is not None:
                        yield Folded(f"{score_label(key)}, against {_name(results, axis)}", (drawing,))


def _drawing(results: Results, dataset: str, noise: str, rate: float, axis: str, key: str) -> Drawing:
    label, name = score_label(key), _name(results, axis)
    where = results.where(dataset, noise)
    if len(results.rates(dataset, noise)) > 1:
        where += f", {written(rate)} label noise"
    file = "-".join(["setting", axis, dataset, noise, f"{rate:g}", *ScoreKey.parse(key)])
    caption = say("figure", score=label, setting=name, where=where, means=means(results, [key]))
    names, added = drawn_cells(results, results.cells_of(dataset, noise, rate), key, bare=True)
    data = score_frame(results, names, [key])
    figure = against_setting(results, data, axis)
    return Drawing(file, figure, data, f"{label} against {name}.", caption + added)


def _name(results: Results, axis: str) -> str:
    """`per class`, or `classes, per class` for settings that move together."""
    return ", ".join(setting_labels(key for key in results.study.axes[axis][0] if key in results.varied).values())
