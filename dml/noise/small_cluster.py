"""Small-cluster noise: a small cluster of one class gets another class's label, like the result of a wrong query.

Liu et al., "Noise-resistant deep metric learning with ranking-based instance selection" (PRISM), CVPR 2021, section
4.1, cluster each class with k-means into many small clusters and give each cluster another class's label. Deviation:
here a cluster is a random sample and its nearest class mates that have not flipped yet, so clusters have equal size and
k-means is not needed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_features, check_labels, check_rate, noisy
from dml.settings import check_count
from dml.types import NoisyLabels


class SmallCluster:
    """Flips exactly `round(rate * n)` labels, cluster by cluster; the last cluster may be smaller.

    Parameters
    ----------
    rate : share of the labels that flip, 0 <= rate < 1.
    size : samples in a cluster, or as many as a class has left.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("features",)
    topline: ClassVar[bool] = False

    def __init__(self, rate: float, size: int = 10) -> None:
        self.rate = check_rate(rate)
        self._size = check_count("noise 'small_cluster': size", size)

    def corrupt(self, labels: np.ndarray, seed: int, features: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Parameters
        ----------
        features : float (n, d), one row for each label. Without features a cluster is a random part of one class.
        """
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        if features is not None:
            features = check_features(features, len(labels))
        generator = seeding.numpy_generator(seed, "noise/small_cluster")
        members = [np.flatnonzero(true == number) for number in range(len(classes))]  # not flipped yet
        observed = labels.copy()
        left = round(self.rate * len(labels))
        for center in generator.permutation(len(labels)):
            if left == 0:
                break
            if observed[center] != labels[center]:
                continue
            number = true[center]
            size = min(self._size, left)
            cluster = _cluster(members[number], center, size, features, generator)
            target = generator.integers(len(classes) - 1)
            observed[cluster] = classes[target + (target >= number)]
            members[number] = np.setdiff1d(members[number], cluster, assume_unique=True)
            left -= len(cluster)
        return noisy(labels, observed)


def _cluster(
    members: np.ndarray, center: int, size: int, features: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
    """The center and its nearest `size - 1` class mates, or random ones without features."""
    if features is None:
        distance = generator.random(len(members))
    else:
        distance = ((features[members] - features[center]) ** 2).sum(axis=1)
    distance[members == center] = -1.0
    return members[np.argsort(distance, kind="stable")[:size]]
