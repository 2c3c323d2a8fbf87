"""The objective against each setting that varies: a line per method, level and dashed for one without the setting."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.figures import PercentTicks, drawn_cells, short_label
from dml.report.labels import Texts, score_label, value_label
from dml.report.methods import setting_labels
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Results
from dml.report.sections._rows import means, score_frame
from dml.types import ScoreKey

say = Texts(__file__)

Line = dict[int | None, str]  # position of the setting's value, None for a method without it -> name of the cell
LETTERS = 8  # of the labels below the axis, together with which they are not turned


class AgainstSetting:
    """A figure for each axis of `grid`."""

    anchor, title = "settings-varied", "What the settings change"

    def applies(self, results: Results) -> bool:
        """At least one setting varies, and at least one trial is confirmed."""
        return bool(results.study.grid) and not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """The objective against each setting, at each noise rate."""
        for axis in results.study.axes:
            for dataset, noise in results.conditions:
                for rate in results.rates(dataset, noise):
                    yield _drawing(results, dataset, noise, rate, axis)


def _drawing(results: Results, dataset: str, noise: str, rate: float, axis: str) -> Drawing:
    key, where = results.objective(dataset), results.where(dataset, noise)
    if len(results.rates(dataset, noise)) > 1:
        where += f", {written(rate)} label noise"
    setting = ", ".join(setting_labels(k for k in results.study.axes[axis][0] if k in results.varied).values())
    caption = say("figure", score=score_label(key), setting=setting, where=where, means=means(results, [key]))
    names, added = drawn_cells(results, results.cells_of(dataset, noise, rate), key, bare=True)
    data = score_frame(results, names, [key])
    file = "-".join(["setting", axis, dataset, noise, f"{rate:g}", *ScoreKey.parse(key)])
    alt = f"{score_label(key)} against {setting}."
    return Drawing(file, against_setting(results, data, axis), data, alt, caption + added)


def against_setting(results: Results, frame: pd.DataFrame, axis: str) -> Figure | None:
    """The figure, or None if no cell has a value. Bands are 95% intervals over seeds."""
    lines = lines_of(results, [] if frame.empty else frame["cell"], axis)
    if not any(set(line) - {None} for line in lines.values()):
        return None
    points, scores = results.study.axes[axis], frame.set_index("cell")
    figure = Figure(figsize=(5.6, 3 + 0.2 * len(lines)), layout="constrained")
    axes = figure.subplots()
    for index, (label, line) in enumerate(lines.items()):
        colour, marker = figures.colour_and_marker(index)
        if None in line:
            axes.axhline(scores.loc[line[None], "score mean"], color=colour, linestyle="--", linewidth=1.2, label=label)
        else:
            places = sorted(place for place in line if place is not None)
            rows = scores.loc[[line[place] for place in places]]
            axes.fill_between(places, rows["score low"], rows["score high"], color=colour, alpha=0.17, linewidth=0)
            axes.plot(places, rows["score mean"], marker=marker, color=colour, label=label)
    first, *others = points[0]
    varied = [first, *(k for k in others if len({value_label(point.get(k, "")) for point in points}) > 1)]
    texts = [", ".join(_tick(point.get(key, "")) for key in varied) for point in points]
    axes.set_xticks(range(len(points)), texts, rotation=0 if max(map(len, texts)) <= LETTERS else 30)
    axes.set_xlabel(", ".join(setting_labels(points[0])[key] for key in varied))
    axes.set_ylabel("\n".join(textwrap.wrap(frame["metric"].iloc[0], 36)))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(PercentTicks(100))
    axes.grid(visible=False, axis="x")
    if len(lines) > 1:
        figure.legend(loc="outside upper left", frameon=False, fontsize=8.5)
    return figure


def lines_of(results: Results, names: Iterable[str], axis: str) -> dict[str, Line]:
    """The cells of each line: a method with what varies beside the axis."""
    points, labels = results.study.axes[axis], setting_labels(results.varied)
    axis_keys = {key for point in points for key in point}
    lines: dict[str, Line] = {}
    for name in names:
        cell = results.cells[name]
        shared = axis_keys & set(cell.grid_point)
        agreeing = (i for i, point in enumerate(points) if all(cell.grid_point[k] == point.get(k) for k in shared))
        place = next(agreeing, None) if shared else None
        if place is None and shared:
            continue
        varied = {key: value for key, value in cell.further.items() if key in labels and key not in axis_keys}
        others = [f"{labels[key]} {value_label(value)}" for key, value in varied.items()]
        label = ", ".join([short_label(results, results.methods[name].bare), *others])
        lines.setdefault(label, {})[place] = name
    return lines


def _tick(value: Any) -> str:
    """A setting's value; of a start, its study, since a name with the cell leaves no room for the figure."""
    return str(value["study"]) if isinstance(value, Mapping) and "study" in value else value_label(value)
