"""t-SNE of kept embeddings (figure 6 of Levi et al. 2021; supplement of Vasudeva et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from dml.report.analysis import tsne as analysis
from dml.report.analysis.shown import Shown, sets_of, shown, vectors
from dml.report.figures.embedded import SETS, titles
from dml.report.figures.points import panels, scatter
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Results
from dml.report.sections._embedded import ABSENT, asked


class Tsne:
    """Each method's embeddings, laid out in the plane."""

    anchor, title = "tsne", "Embeddings by t-SNE"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "tsne")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset: a panel per method and evaluated set."""
        found = shown(results)
        if not found:
            yield ABSENT
        for each in found:
            figure, many = _figure(results, each)
            colours = (
                f"the {analysis.COLOURED} largest classes have colours, all others are grey"
                if many
                else ("each colour is a class, with its number at the median")
            )
            caption = (
                f"t-SNE of at most {analysis.POINTS:,} images of each set, perplexity {analysis.PERPLEXITY:g}, "
                f"initialised by PCA{each.where}; {colours}. Each panel is laid out by itself: distances between "
                f"clusters, their sizes and their places mean little, and t-SNE can split a cluster. {each.note}"
            )
            yield Drawing(
                f"tsne-{each.dataset}", figure, "t-SNE of embeddings by method, coloured by class.", caption, True
            )


def _figure(results: Results, of: Shown) -> tuple[Figure, bool]:
    """The figure, and whether some classes are grey."""
    sets, seed, many = list(reversed(sets_of(results, of))), results.study.report.seed, False
    figure, grid = panels(titles(results, list(of.keys)), [SETS.get(part, part) for part in sets])
    for own, (name, key) in zip(grid, of.keys.items(), strict=True):
        content = results.embeddings(key)
        points = vectors(results, name, content)
        for axes, part in zip(own, sets, strict=True):
            rows = np.flatnonzero(content["set"] == part)
            labels = content["labels_fine"][rows]
            chosen = analysis.sample(labels, seed)
            coloured = analysis.largest(labels)
            many |= len(coloured) < len(np.unique(labels))
            places = analysis.layout(points[rows[chosen]], seed, results.kept)
            scatter(axes, places, labels[chosen], [int(label) for label in coloured])
    return figure, many
