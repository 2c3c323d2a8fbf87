"""Two-dimensional embeddings of each method (figure 2 of Levi et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dml.report.figures import style
from dml.report.figures.methods import short_label
from dml.report.labels import metric_label, metric_of
from dml.report.page.blocks import Block, Drawing
from dml.report.page.numbers import percent
from dml.report.results import Results

POINTS = 2500  # per panel, at most
ROWS = {"train": "training images", "seen": "training classes", "test": "new classes"}  # other sets follow


class Planes:
    """Each method's embeddings as points in the plane."""

    anchor, title = "planes", "Embeddings in the plane"

    def applies(self, results: Results) -> bool:
        """Two dimensions, and at least one trial saved its embeddings."""
        return any(_is_plane(results, name) for name in results.cells)

    def content(self, results: Results) -> Iterator[Block | None]:
        """One figure: a column per method, a row per evaluated set."""
        caption = (
            "Each point is an image and each colour a class; the numerals are at the medians of the classes. First "
            "seed of each method."
        )
        yield Drawing("planes", _figure(results), "Two-dimensional embeddings by method, coloured by class.", caption)


def _is_plane(results: Results, name: str) -> bool:
    """Whether a cell embeds into the plane, and one of its trials saved its embeddings."""
    two = results.study.training_of(results.cells[name]).embedding_size == 2
    return two and results.embedded(name) is not None


def _figure(results: Results) -> Figure:
    keys = {name: str(results.embedded(name)) for name in results.cells if _is_plane(results, name)}
    saved = {name: results.embeddings(key) for name, key in keys.items()}
    order = list(ROWS)
    sets = sorted(
        {str(part) for content in saved.values() for part in np.unique(content["set"])},
        key=lambda part: order.index(part) if part in order else len(order),
    )
    classes = sorted({int(label) for content in saved.values() for label in np.unique(content["labels_fine"])})
    figure = Figure(figsize=(3.9 * len(saved), 0.4 + 3.6 * len(sets)), layout="constrained")
    grid = figure.subplots(len(sets), len(saved), squeeze=False)
    for column, (name, content) in enumerate(saved.items()):
        for row, part in enumerate(sets):
            axes = grid[row, column]
            _plane(axes, content, part, classes)
            axes.set_xlabel(_score(results, name, keys[name], part))
            if row == 0:
                axes.set_title(short_label(results, results.methods[name]))
            if column == 0:
                axes.set_ylabel(ROWS.get(part, part))
    return figure


def _score(results: Results, name: str, key: str, part: str) -> str:
    """The objective of the trial that is shown."""
    score = results.objective(results.cells[name].dataset, part)
    row = results.confirmed[results.confirmed["key"] == key]
    if score not in row or row[score].isna().all():
        return ""
    return f"{metric_label(metric_of(score))} {percent(100 * float(row[score].iloc[0]))} %"


def _plane(axes: Axes, content: dict[str, np.ndarray], part: str, classes: list[int]) -> None:
    chosen = np.flatnonzero(content["set"] == part)
    chosen = chosen[:: max(1, -(-len(chosen) // POINTS))]
    points, labels = content["embeddings"][chosen], content["labels_fine"][chosen]
    for place, label in enumerate(classes):
        own = points[labels == label]
        if not len(own):
            continue
        colour = style.CLASSES[place % len(style.CLASSES)]
        axes.plot(*own.T, ".", color=colour, markersize=2.2, alpha=0.6, rasterized=True)
        x, y = np.median(own, axis=0)
        text = axes.text(x, y, str(label), color=colour, fontsize=12, weight="bold", ha="center", va="center")
        text.set_path_effects([patheffects.withStroke(linewidth=3, foreground=style.PAPER)])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(style.GRID)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)
