"""Small-cluster noise: a small cluster of one class gets another class's label, as by a crawler's wrong query.

Liu et al.: Noise-resistant deep metric learning with ranking-based instance selection (PRISM), CVPR 2021, sec. 4.1,
cluster the images of each class into many small clusters with k-means and give each the label of another class.
Deviation: a cluster here is a random sample with its nearest fellows that are not flipped yet, so that clusters have
one size and no k-means is run.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._features import check_features
from dml.noise._labels import check_classes, check_count, check_labels, check_rate, noisy
from dml.types import NoisyLabels


class SmallCluster:
    """Exactly `round(rate * n)` labels are flipped, cluster by cluster; the last cluster may be cut short.

    Parameters
    ----------
    rate : share of the labels, 0 <= rate < 1.
    size : samples in a cluster; fewer where a class has fewer left.
    """

    context: ClassVar[tuple[str, ...]] = ("features",)

    def __init__(self, rate: float, size: int = 10) -> None:
        self.rate = check_rate(rate)
        self._size = check_count(size, "'small_cluster': size")

    def corrupt(self, labels: np.ndarray, seed: int, features: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Parameters
        ----------
        features : float (n, d), one row a label. Without them a cluster is a random handful of one class.
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
    """The center and its nearest `size - 1` fellows, or random ones where nothing tells which are near."""
    if features is None:
        distance = generator.random(len(members))
    else:
        distance = ((features[members] - features[center]) ** 2).sum(axis=1)
    distance[members == center] = -1.0
    return members[np.argsort(distance, kind="stable")[:size]]
