"""What NMI and AMI share: the mean entropy that they divide by, and the partitions without one."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dml.evaluation.clustering import Contingency, entropy, mean_entropy


class SharedInformation(ABC):
    """A score of the classes and as many k-means clusters.

    Parameters
    ----------
    average : `arithmetic` or `geometric`, the mean of the two entropies.
    """

    def __init__(self, average: str = "arithmetic") -> None:
        mean_entropy(1.0, 1.0, average)
        self.average = average

    def clusters(self, classes: int) -> int:
        """Clusters asked of k-means."""
        return classes

    def __call__(self, table: Contingency) -> float:
        """The same partition twice: 1; one class or one cluster alone: 0."""
        if len(table.counts) == len(table.classes) == len(table.clusters):
            return 1.0
        if 1 in (len(table.classes), len(table.clusters)):
            return 0.0
        return self._score(table, mean_entropy(entropy(table.classes), entropy(table.clusters), self.average))

    @abstractmethod
    def _score(self, table: Contingency, mean: float) -> float:
        """The score of two partitions with this mean entropy, where neither is a single part."""
