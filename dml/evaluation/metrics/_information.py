"""What NMI and AMI share: the mean entropy that they divide by, and the partitions for which it is 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from dml.evaluation.clustering import Contingency, entropy, mean_entropy


class SharedInformation(ABC):
    """A score of a clustering into as many clusters as classes.

    Parameters
    ----------
    average : `arithmetic` or `geometric`, the mean of the two entropies.
    """

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
