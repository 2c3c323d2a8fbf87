"""The table of classes against clusters, from which NMI, AMI and F1 are computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np


class Contingency(NamedTuple):
    """Classes against clusters, without the empty cells and the empty clusters."""

    counts: np.ndarray  # int64 (c,): samples in each cell
    rows: np.ndarray  # int64 (c,): the cell's class
    columns: np.ndarray  # int64 (c,): the cell's cluster
    classes: np.ndarray  # int64 (C,): samples in each class
    clusters: np.ndarray  # int64 (K,): samples in each cluster


def contingency(labels: np.ndarray, clusters: np.ndarray) -> Contingency:
    """Count the samples in each class and cluster, given as int64 (n,) each."""
    _, rows, classes = np.unique(labels, return_inverse=True, return_counts=True)
    _, columns, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    cells, counts = np.unique(rows.reshape(-1) * len(sizes) + columns.reshape(-1), return_counts=True)
    return Contingency(counts, cells // len(sizes), cells % len(sizes), classes, sizes)


def entropy(sizes: np.ndarray) -> float:
    """Entropy of a partition into parts of these sizes, in nats."""
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def mutual_information(table: Contingency) -> float:
    """Mutual information of classes and clusters, in nats, at least 0."""
    n = table.counts.sum()
    ratio = np.log(table.counts) + np.log(n) - np.log(table.classes[table.rows]) - np.log(table.clusters[table.columns])
    return max(0.0, float((table.counts / n * ratio).sum()))


def mean_entropy(first: float, second: float, average: str) -> float:
    """The mean of two entropies, by which mutual information is normalised. Raises ValueError."""
    if average == "arithmetic":
        return (first + second) / 2
    if average == "geometric":
        return float(np.sqrt(first * second))
    raise ValueError(f"average: expected 'arithmetic' or 'geometric', got {average!r}")


class SharedInformation(ABC):
    """A score of a clustering into as many clusters as classes."""

    own_clusters: ClassVar[bool] = False

    def __init__(self, average: str = "arithmetic") -> None:
        mean_entropy(1.0, 1.0, average)
        self.average = average

    def clusters(self, classes: int) -> int:
        """Clusters that k-means looks for."""
        return classes

    def __call__(self, table: Contingency) -> float:
        """1 if classes and clusters are the same partition, else 0 if there is only one class or one cluster."""
        if len(table.counts) == len(table.classes) == len(table.clusters):
            return 1.0
        if 1 in (len(table.classes), len(table.clusters)):
            return 0.0
        return self._score(table, mean_entropy(entropy(table.classes), entropy(table.clusters), self.average))

    @abstractmethod
    def _score(self, table: Contingency, mean: float) -> float:
        """The score of two partitions with this mean entropy. Each has at least two parts."""
