"""Similarity noise: a label becomes one of the classes most similar to its own, like an annotator's confusion.

Classes are compared by the cosine of their mean features.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_features, check_labels, check_rate, chosen, noisy
from dml.settings import check_count
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
    context: ClassVar[tuple[str, ...]] = ("features",)
    topline: ClassVar[bool] = False

    def __init__(self, rate: float, neighbours: int = 3) -> None:
        self.rate = check_rate(rate)
        self._neighbours = check_count("noise 'similarity': neighbours", neighbours)

    def corrupt(self, labels: np.ndarray, seed: int, features: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,), by features float (n, d), one row for each label.

        Raises
        ------
        ValueError : no features, or of another shape.
        """
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            count = min(self._neighbours, len(classes) - 1)
            nearest = _nearest(_directions(len(classes), true, features), count)
            drawn = seeding.numpy_generator(seed, "noise/similarity").integers(0, count, size=len(hit))
            observed[hit] = classes[nearest[true[hit], drawn]]
        return noisy(labels, observed)


def _nearest(means: np.ndarray, count: int) -> np.ndarray:
    """int64 (K, count): for each class the most similar others, most similar first; the lowest number among ties."""
    blocks = []
    for start in range(0, len(means), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(means)))
        likeness = means[rows] @ means.T
        likeness[rows - start, rows] = -np.inf
        least = np.partition(likeness, -count, axis=1)[:, -count, None]
        above, ties = likeness > least, likeness == least
        kept = above | (ties & (ties.cumsum(axis=1) <= count - above.sum(axis=1, keepdims=True)))
        numbers = np.nonzero(kept)[1].reshape(-1, count)
        order = np.argsort(-np.take_along_axis(likeness, numbers, axis=1), axis=1, kind="stable")
        blocks.append(np.take_along_axis(numbers, order, axis=1))
    return np.concatenate(blocks)


def _directions(classes: int, true: np.ndarray, features: np.ndarray | None) -> np.ndarray:
    """The directions of the mean features of each class, float (K, d)."""
    if features is None:
        raise ValueError("noise 'similarity': needs features (n, d)")
    features = check_features(features, len(true))
    means = np.zeros((classes, features.shape[1]))
    np.add.at(means, true, features)
    means /= np.bincount(true)[:, None]
    length = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.where(length > 0, length, 1)
