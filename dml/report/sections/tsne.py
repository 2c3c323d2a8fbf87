"""t-SNE of kept embeddings (figure 6 of Levi et al. 2021; supplement of Vasudeva et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis import tsne as analysis
from dml.report.analysis.embedded_cells import Shown, sets_of, shown, vectors
from dml.report.figure_data import Arrays
from dml.report.figures.embedded import SETS
from dml.report.figures.points import points
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Results
from dml.report.sections._embedded import absent, asked, named
from dml.report.texts import Texts

say = Texts(__file__)


class Tsne:
    """Each method's embeddings, laid out in the plane."""

    anchor, title = "tsne", "Embeddings by t-SNE"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "tsne")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset: a panel per method and evaluated set."""
        found = shown(results, "tsne")
        if not found:
            yield absent()
        for each in found:
            frame = _frame(results, each)
            colours = "each colour is a class, with its number at the median"
            if (frame["colour"] < 0).any():
                colours = f"the {analysis.COLOURED} largest classes have colours, all others are grey"
            caption = say(
                "figure",
                points=f"{analysis.POINTS:,}",
                perplexity=f"{analysis.PERPLEXITY:g}",
                where=each.where,
                colours=colours,
                note=each.note,
            )
            yield Drawing(f"tsne-{each.dataset}", points(frame, numerals=True), frame, say("alt"), caption, True)


def _frame(results: Results, of: Shown) -> pd.DataFrame:
    """One row per point that is shown."""
    frames = []
    for name, key in of.keys.items():
        for part in reversed(sets_of(results, of)):
            if laid := _laid_out(results, name, key, part):
                (x, y), colours = laid["places"].astype(np.float32).T, {c: i for i, c in enumerate(laid["coloured"])}
                rows = named(results, of, name, part) | {"set": SETS.get(part, part)}
                rows |= {"x": x, "y": y, "class": laid["labels"]}
                frames.append(pd.DataFrame(rows | {"colour": [colours.get(c, -1) for c in laid["labels"]]}))
    return pd.concat(frames, ignore_index=True)


def _laid_out(results: Results, name: str, key: str, part: str) -> Arrays:
    """`places` float16 (n, 2), `labels` int (n,), and `coloured`, the labels that have colours."""

    def compute() -> Arrays:
        content, seed = results.embeddings(key), results.study.report.seed
        rows = np.flatnonzero(content["set"] == part)
        labels = content["labels_fine"][rows].astype(np.int32)
        chosen = analysis.sample(labels, seed)
        places = analysis.layout(vectors(results, name, content)[rows[chosen]], seed, results.kept)
        return {"places": places.astype(np.float16), "labels": labels[chosen], "coloured": analysis.largest(labels)}

    return results.figures.of("tsne", key, part, compute)
