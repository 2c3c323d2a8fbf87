"""Two-dimensional embeddings of each method (figure 2 of Levi et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from dml.report.analysis.shown import Shown, planes, sets_of
from dml.report.figure_data import Arrays
from dml.report.figures.embedded import SETS, titles
from dml.report.figures.points import FEW, panels, scatter
from dml.report.labels import metric_label, metric_of
from dml.report.page.blocks import Block, Drawing
from dml.report.page.numbers import percent
from dml.report.results import Results

POINTS = 2500  # per panel, at most
PANELS = 12  # per dataset, at most


class Planes:
    """Each method's embeddings as points in the plane."""

    anchor, title = "planes", "Embeddings in the plane"

    def applies(self, results: Results) -> bool:
        """Two dimensions, and at least one trial saved its embeddings."""
        return bool(planes(results, 1))

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset: a panel per method and evaluated set."""
        found = planes(results, max(1, PANELS // len(results.study.evaluation.sets)))
        for each in found:
            figure, classes = _figure(results, each)
            numerals = "; the numerals are at the medians of the classes" if classes <= FEW else ""
            caption = (
                f"Each point is an image and each colour a class{each.where}{numerals}. At most {POINTS:,} images of "
                f"each set. {each.note}"
            )
            name = "planes" if len(found) == 1 else f"planes-{each.dataset}"
            alt = "Two-dimensional embeddings by method, coloured by class."
            yield Drawing(name, figure, alt, caption)


def _figure(results: Results, of: Shown) -> tuple[Figure, int]:
    """The figure, and how many classes it has."""
    sets = list(reversed(sets_of(results, of)))
    drawn = {name: [_points(results, key, part) for part in sets] for name, key in of.keys.items()}
    classes = sorted({int(label) for found in drawn.values() for each in found for label in np.unique(each["labels"])})
    figure, grid = panels(titles(results, list(of.keys)), [SETS.get(part, part) for part in sets])
    for own, (name, found) in zip(grid, drawn.items(), strict=True):
        for axes, part, each in zip(own, sets, found, strict=True):
            scatter(axes, each["points"].astype(np.float32), each["labels"], classes)
            axes.set_xlabel(_score(results, name, of.keys[name], part))
    return figure, len(classes)


def _points(results: Results, key: str, part: str) -> Arrays:
    """Every so many-th point of a set: `points` float16 (n, 2) and `labels` int (n,)."""

    def compute() -> Arrays:
        content = results.embeddings(key)
        chosen = np.flatnonzero(content["set"] == part)
        chosen = chosen[:: max(1, -(-len(chosen) // POINTS))]
        labels = content["labels_fine"][chosen].astype(np.int32)
        return {"points": content["embeddings"][chosen].astype(np.float16), "labels": labels}

    found = results.figures.of("planes", key, part, compute)
    return found or {"points": np.empty((0, 2)), "labels": np.empty(0, dtype=int)}


def _score(results: Results, name: str, key: str, part: str) -> str:
    """The objective of the trial that is shown."""
    score = results.objective(results.cells[name].dataset, part)
    row = results.confirmed[results.confirmed["key"] == key]
    if score not in row or row[score].isna().all():
        return ""
    return f"{metric_label(metric_of(score))} {percent(100 * float(row[score].iloc[0]))} %"
