"""The plane of two-dimensional embeddings, as figure 2 of the EPS paper has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dml.report import style
from dml.report.figures import row_label
from dml.report.published import metric_label
from dml.report.results import Results
from dml.report.table import percent

POINTS = 2500  # at most, in one panel of a plane


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
                    found.append((name, str(key), content))
                break
    if not found:
        return None
    parts = sorted(
        {str(p) for _, _, c in found for p in np.unique(c["set"])},
        key=lambda p: ("seen", "test").index(p) if p in ("seen", "test") else 2,
    )
    figure = Figure(figsize=(3.9 * len(found), 0.4 + 3.6 * len(parts)), layout="constrained")
    grid = figure.subplots(len(parts), len(found), squeeze=False)
    classes = sorted({int(v) for _, _, c in found for v in np.unique(c["labels_fine"])})
    for column, (name, key, content) in enumerate(found):
        for row, part in enumerate(parts):
            axes = grid[row, column]
            _plane(axes, content, part, classes)
            axes.set_xlabel(_score(results, name, key, part))
            if row == 0:
                axes.set_title(row_label(results, name).replace("\n", ", "))
            if column == 0:
                axes.set_ylabel({"seen": "training classes", "test": "new classes"}.get(part, part))
    return figure


def _score(results: Results, name: str, key: str, part: str) -> str:
    """The trial's own score in this plane, by the study's objective."""
    score = results.objective(results.cells[name].dataset, part)
    row = results.confirmed[results.confirmed["key"] == key]
    if score not in row or row[score].isna().all():
        return ""
    return f"{metric_label(score.split('/', 2)[2])} {percent(100 * float(row[score].iloc[0]))} %"


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
