"""t-SNE of kept embeddings (figure 6 of Levi et al. 2021; supplement of Vasudeva et al. 2021).

t-SNE of kept embeddings: which points, and where they are placed.

van der Maaten & Hinton, Visualizing data using t-SNE, JMLR 2008; scikit-learn's Barnes-Hut version.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.manifold import TSNE

from dml.report.analysis.embedded_cells import Shown, kept, sets_of, shown, vectors
from dml.report.figures import SETS, points
from dml.report.labels import Texts
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Arrays, Results
from dml.report.sections._rows import absent, asked, named

SEED = 0
POINTS = 1000  # in a panel
COLOURED = 10  # classes; the points of all others are grey
PERPLEXITY = 30.0


def largest(labels: np.ndarray, count: int = COLOURED) -> np.ndarray:
    """The labels of the largest classes, ascending; of classes of equal size those with the smallest labels."""
    known, sizes = np.unique(labels, return_counts=True)
    return np.sort(known[np.argsort(-sizes, kind="stable")[:count]])


def sample(labels: np.ndarray, seed: int, most: int = POINTS) -> np.ndarray:
    """Rows of at most `most` points, ascending.

    With more than `COLOURED` classes, half of the points are of the largest ones, in equal shares, as far as they have
    as many: a random sample of many classes would have a few points of each.
    """
    draw = np.random.default_rng(seed)
    if len(labels) <= most:
        return np.arange(len(labels))
    coloured = largest(labels)
    if len(np.unique(labels)) <= COLOURED:
        return np.sort(draw.permutation(len(labels))[:most])
    share = most // (2 * COLOURED)
    chosen = np.concatenate([draw.permutation(np.flatnonzero(labels == label))[:share] for label in coloured])
    others = draw.permutation(np.flatnonzero(~np.isin(labels, coloured)))[: most - len(chosen)]
    return np.sort(np.concatenate([chosen, others]))


def layout(points: np.ndarray, seed: int, folder: Path | None = None) -> np.ndarray:
    """Places (n, 2) float32 of points (n, D); points that are too few for t-SNE, or on a line, stay where they are.

    Parameters
    ----------
    folder : keeps finished layouts, see `dml.report.analysis.embedded_cells`.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    if len(points) < 5 or points.shape[1] < 2:
        return np.c_[points, np.zeros((len(points), 2), dtype=np.float32)][:, :2]
    perplexity = min(PERPLEXITY, (len(points) - 1) / 3)
    what = f"t-SNE of scikit-learn {sklearn.__version__}, perplexity {perplexity}, seed {seed}"
    embed = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform
    return kept(folder, lambda: embed(points).astype(np.float32), what, points)


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
                colours = f"the {COLOURED} largest classes have colours, all others are grey"
            caption = say(
                "figure",
                points=f"{POINTS:,}",
                perplexity=f"{PERPLEXITY:g}",
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
        content, seed = results.embeddings(key), SEED
        rows = np.flatnonzero(content["set"] == part)
        labels = content["labels_fine"][rows].astype(np.int32)
        chosen = sample(labels, seed)
        places = layout(vectors(results, name, content)[rows[chosen]], seed, results.kept)
        return {"places": places.astype(np.float16), "labels": labels[chosen], "coloured": largest(labels)}

    return results.figures.of("tsne", key, part, compute)
