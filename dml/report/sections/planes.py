"""Two-dimensional embeddings of each method (figure 2 of Levi et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from dml.report.analysis.shown import Shown, planes, sets_of
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
            caption = f"Each point is an image and each colour a class{each.where}{numerals}. {each.note}"
            name = "planes" if len(found) == 1 else f"planes-{each.dataset}"
            alt = "Two-dimensional embeddings by method, coloured by class."
            yield Drawing(name, figure, alt, caption)


def _figure(results: Results, of: Shown) -> tuple[Figure, int]:
    """The figure, and how many classes it has."""
    sets = list(reversed(sets_of(results, of)))
    saved = {name: results.embeddings(key) for name, key in of.keys.items()}
    classes = sorted({int(label) for content in saved.values() for label in np.unique(content["labels_fine"])})
    figure, grid = panels(titles(results, list(of.keys)), [SETS.get(part, part) for part in sets])
    for own, (name, content) in zip(grid, saved.items(), strict=True):
        for axes, part in zip(own, sets, strict=True):
            chosen = np.flatnonzero(content["set"] == part)
            chosen = chosen[:: max(1, -(-len(chosen) // POINTS))]
            scatter(axes, content["embeddings"][chosen], content["labels_fine"][chosen], classes)
            axes.set_xlabel(_score(results, name, of.keys[name], part))
    return figure, len(classes)


def _score(results: Results, name: str, key: str, part: str) -> str:
    """The objective of the trial that is shown."""
    score = results.objective(results.cells[name].dataset, part)
    row = results.confirmed[results.confirmed["key"] == key]
    if score not in row or row[score].isna().all():
        return ""
    return f"{metric_label(metric_of(score))} {percent(100 * float(row[score].iloc[0]))} %"
