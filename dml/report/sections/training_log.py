"""What happened during training: learning curves."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes

from dml.report.best_methods import drawn_cells, series_panels
from dml.report.labels import Texts, joined, score_label
from dml.report.page.blocks import Block, Drawing, Folded
from dml.report.results import Results, parsed
from dml.report.sections._rows import series_frame

say = Texts(__file__)

OPEN = 3  # figures of datasets and noise models that are not folded, at most


class TrainingLog:
    """Learning curves."""

    anchor, title = "training", "Training"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial."""
        return not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and noise model."""
        for place, (dataset, noise) in enumerate(results.conditions):
            key = results.objective(dataset)
            label, where = score_label(key), results.where(dataset, noise)
            curves = _curves(results, dataset, noise)
            cells, added = drawn_cells(results, list(curves), key)
            figure = series_panels(results, {cell: curves[cell] for cell in cells}, ("training steps", label), _draw)
            ends = say("ends") if results.study.search.stop == "best" else ""
            caption = joined(say("figure", score=label, where=where), ends) + added
            data = series_frame(results, curves, "step", "score")
            drawing = Drawing(f"curves-{dataset}-{noise}", figure, data, f"{label} during training.", caption)
            if place < OPEN or figure is None:
                yield drawing
            else:
                yield Folded(f"{label}, during training{where}", (drawing,))


def _curves(results: Results, dataset: str, noise: str) -> dict[str, pd.Series]:
    """For each cell the objective by training step, mean over seeds; nothing if no cell was evaluated twice."""
    key = results.objective(dataset)
    curves: dict[str, pd.Series] = {}
    for name in results.cells_of(dataset, noise):
        runs = []
        for text in results.confirmed_of(name)["curve"]:
            points = {step: 100 * s[key] for step, s in parsed(text) or [] if isinstance(s.get(key), int | float)}
            runs.append(points)
        if max(map(len, runs), default=0) > 1:
            series = [pd.Series(points, dtype=float) for points in runs]
            curves[name] = pd.concat(series, axis=1).sort_index().mean(axis=1)
    return curves


def _draw(axes: Axes, mean: pd.Series, dashes: str, colour: str, marker: str) -> None:
    axes.plot(mean.index, mean, dashes, color=colour, linewidth=1.4)
