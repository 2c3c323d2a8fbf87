"""t-SNE of kept embeddings: which points, and where they are placed.

van der Maaten & Hinton, Visualizing data using t-SNE, JMLR 2008; scikit-learn's Barnes-Hut version.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import sklearn
from sklearn.manifold import TSNE

from dml.report.cache import kept

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
    folder : keeps finished layouts, see `dml.report.cache`.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    if len(points) < 5 or points.shape[1] < 2:
        return np.c_[points, np.zeros((len(points), 2), dtype=np.float32)][:, :2]
    perplexity = min(PERPLEXITY, (len(points) - 1) / 3)
    what = f"t-SNE of scikit-learn {sklearn.__version__}, perplexity {perplexity}, seed {seed}"
    embed = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform
    return kept(folder, lambda: embed(points).astype(np.float32), what, points)
