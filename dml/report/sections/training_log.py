"""What happened during training: learning curves, and what the trials logged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dml.report.best_methods import drawn_cells, series_panels
from dml.report.labels import Texts, joined, readable, score_label
from dml.report.page.blocks import Block, Column, Drawing, Folded, Table, folded
from dml.report.results import Results, parsed
from dml.report.sections._rows import LABELS, identity, identity_columns, series_frame

say = Texts(__file__)

OPEN = 3  # figures of datasets and noise models that are not folded, at most


class TrainingLog:
    """Learning curves and diagnostics."""

    anchor, title = "training", "Training"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial."""
        return not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and noise model, and a folded table."""
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
        yield folded(diagnostics(results))


def diagnostics(results: Results) -> Table | None:
    """One row per cell: the mean over seeds of each number that its trials logged."""
    rows, keys = [], []
    seconds = results.confirmed.groupby("cell")["seconds"].mean()
    for name in results.cells:
        logged = [found for found in results.logged.get(name, []) if found]
        means = {k: float(v) for k, v in pd.DataFrame(logged).mean(numeric_only=True).items()} if logged else {}
        means.pop("eta", None)  # of older trials: a maximum, biased upwards. papers/noise pools counts instead
        keys += [key for key in means if key not in keys]
        row = identity(results, name) | {f"mean {key}": mean for key, mean in means.items()}
        rows.append(row | {"seconds": float(seconds.get(name, np.nan)), "cell": name})
    if not keys:
        return None
    columns = (
        *identity_columns(results),
        *(Column(f"mean {key}", _label(key), "number", f"mean of {key}") for key in keys),
        Column("seconds", "Time per trial", "seconds"),
    )
    return Table("diagnostics", "Training diagnostics", say("diagnostics"), columns, pd.DataFrame(rows))


def _label(key: str) -> str:
    """`active_share` -> `Active share`; a key that is also a column of the cell's identity begins with `Mean`."""
    return f"Mean {readable(key)}" if key in LABELS else readable(key).capitalize()


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
