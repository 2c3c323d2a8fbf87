"""What happened during training: learning curves, and what the trials logged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report.figures.grid import cell_grid
from dml.report.figures.methods import dash, look
from dml.report.labels import readable, score_label
from dml.report.page.blocks import Block, Drawing, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results, parsed
from dml.report.sections._rows import LABELS, identity, identity_columns


class TrainingLog:
    """Learning curves and diagnostics."""

    anchor, title = "training", "Training"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial."""
        return not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and noise model, and a folded table."""
        for dataset, noise in results.conditions:
            label = score_label(results.objective(dataset))
            caption = (
                f"{label}, during training{results.where(dataset, noise)}. Mean over seeds. No step was chosen by it."
            )
            figure = _curves(results, dataset, noise)
            yield Drawing(f"curves-{dataset}-{noise}", figure, f"{label} during training.", caption)
        yield folded(diagnostics(results))


def diagnostics(results: Results) -> Table | None:
    """One row per cell: the mean over seeds of each number that its trials logged."""
    rows, keys = [], []
    for name in results.cells:
        trials = results.confirmed[results.confirmed["cell"] == name]
        logged = pd.DataFrame([parsed(value) or {} for value in trials["diagnostics"]])
        means = {key: float(mean) for key, mean in logged.mean(numeric_only=True).items()} if len(logged) else {}
        means.pop("eta", None)  # of older trials: a maximum, biased upwards. `negative_skew` pools counts instead
        keys += [key for key in means if key not in keys]
        row = identity(results, name) | {f"mean {key}": mean for key, mean in means.items()}
        rows.append(row | {"seconds": float(trials["seconds"].mean()) if len(trials) else np.nan, "cell": name})
    if not keys:
        return None
    columns = (
        *identity_columns(results),
        *(Column(f"mean {key}", _label(key), "number", f"mean of {key}") for key in keys),
        Column("seconds", "Time per trial", "seconds"),
    )
    caption = "Means over the seeds of each cell's confirmed trials."
    return Table("diagnostics", "Training diagnostics", caption, columns, pd.DataFrame(rows))


def _label(key: str) -> str:
    """`active_share` -> `Active share`; a key that is also a column of the cell's identity begins with `Mean`."""
    return f"Mean {readable(key)}" if key in LABELS else readable(key).capitalize()


def _curves(results: Results, dataset: str, noise: str) -> Figure | None:
    """The objective against training steps, mean over seeds; None if no cell was evaluated twice."""
    key = results.objective(dataset)
    curves: dict[str, pd.Series] = {}
    for name in results.cells_of(dataset, noise):
        runs = []
        for text in results.confirmed.loc[results.confirmed["cell"] == name, "curve"]:
            points = {step: 100 * s[key] for step, s in parsed(text) or [] if isinstance(s.get(key), int | float)}
            runs.append(pd.Series(points, dtype=float))
        if runs and max(map(len, runs)) > 1:
            curves[name] = pd.concat(runs, axis=1).sort_index().mean(axis=1)
    if not curves:
        return None
    figure, panels = cell_grid(results, list(curves), below="training steps", left=score_label(key))
    for name, mean in curves.items():
        method = results.methods[name]
        panels[name].plot(mean.index, mean, dash(results, method), color=look(results, method)[0], linewidth=1.4)
    return figure
