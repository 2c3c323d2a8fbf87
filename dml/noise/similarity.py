"""Similarity noise: a label becomes one of the classes most similar to its own, like an annotator's confusion.

Classes are compared by the cosine of their mean features, or by a given similarity matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_count, check_features, check_labels, check_rate, chosen, noisy
from dml.tables import host_array
from dml.types import NoisyLabels

BLOCK = 512  # classes compared with all others at once; a (K, K) table of 11,318 classes would take 1 GB


class Similarity:
    """Flips exactly `round(rate * n)` labels, each to one of its class's `neighbours` nearest classes, drawn uniformly.

    Parameters
    ----------
    rate : share of the labels that flip, 0 <= rate < 1.
    neighbours : number of classes that a class is confused with, at most K - 1.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("features", "similarity")
    topline: ClassVar[bool] = False

    def __init__(self, rate: float, neighbours: int = 3) -> None:
        self.rate = check_rate(rate)
        self._neighbours = check_count(neighbours, "'similarity': neighbours")

    def corrupt(
        self,
        labels: np.ndarray,
        seed: int,
        features: np.ndarray | None = None,
        similarity: np.ndarray | None = None,
    ) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Parameters
        ----------
        features : float (n, d), one row for each label.
        similarity : float (C, C), row and column by class label. It takes precedence over features.

        Raises
        ------
        ValueError : neither is given, or a shape is wrong.
        """
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            count = min(self._neighbours, len(classes) - 1)
            nearest = _nearest(_alike(classes, true, features, similarity), len(classes), count)
            drawn = seeding.numpy_generator(seed, "noise/similarity").integers(0, count, size=len(hit))
            observed[hit] = classes[nearest[true[hit], drawn]]
        return noisy(labels, observed)


def _nearest(alike: Callable[[np.ndarray], np.ndarray], classes: int, count: int) -> np.ndarray:
    """int64 (K, count): for each class the most similar others, most similar first; the lowest number among ties."""
    blocks = []
    for start in range(0, classes, BLOCK):
        rows = np.arange(start, min(start + BLOCK, classes))
        likeness = alike(rows)
        likeness[rows - start, rows] = -np.inf
        least = np.partition(likeness, -count, axis=1)[:, -count, None]
        above, ties = likeness > least, likeness == least
        kept = above | (ties & (ties.cumsum(axis=1) <= count - above.sum(axis=1, keepdims=True)))
        numbers = np.nonzero(kept)[1].reshape(-1, count)
        order = np.argsort(-np.take_along_axis(likeness, numbers, axis=1), axis=1, kind="stable")
        blocks.append(np.take_along_axis(numbers, order, axis=1))
    return np.concatenate(blocks)


def _alike(
    classes: np.ndarray, true: np.ndarray, features: np.ndarray | None, similarity: np.ndarray | None
) -> Callable[[np.ndarray], np.ndarray]:
    """A function from class numbers (m,) to their similarity with all classes, float (m, K)."""
    if similarity is not None:
        table = host_array(similarity, "noise 'similarity': similarity")
        side, numbers = table.shape[0] if table.ndim == 2 else 0, table.dtype.kind in "biuf"
        if table.shape != (side, side) or side <= classes[-1] or not numbers or not np.isfinite(table).all():
            raise ValueError(
                f"noise 'similarity': similarity: expected finite (C, C) with C above the largest label {classes[-1]}, "
                f"got {table.dtype} {table.shape}"
            )
        similarity = table.astype(np.float64, copy=False)
        return lambda rows: similarity[np.ix_(classes[rows], classes)]
    if features is None:
        raise ValueError("noise 'similarity': needs features (n, d) or a similarity matrix (C, C)")
    features = check_features(features, len(true))
    means = np.zeros((len(classes), features.shape[1]))
    np.add.at(means, true, features)
    means /= np.bincount(true)[:, None]
    length = np.linalg.norm(means, axis=1, keepdims=True)
    means /= np.where(length > 0, length, 1)
    return lambda rows: means[rows] @ means.T
