"""NMI+: the NMI of a clustering into more clusters than classes (easy positive sampling, table 1).

There are `over_clustering` times as many clusters as classes: 10 for Cars and CUB, 30 for Omniglot's languages. A class
that has several modes is not penalised for it.
"""

from __future__ import annotations

from typing import ClassVar

from dml.evaluation.clustering import Contingency
from dml.evaluation.metrics.nmi import Nmi


class NmiPlus:
    """NMI with `over_clustering` times as many clusters as classes.

    Parameters
    ----------
    over_clustering : clusters for each class, at least 1.
    average : `arithmetic` or `geometric`, the mean of the two entropies.
    """

    version: ClassVar[int] = 1
    own_clusters: ClassVar[bool] = True

    def __init__(self, over_clustering: int = 10, average: str = "arithmetic") -> None:
        if over_clustering < 1:
            raise ValueError(f"over_clustering: expected at least 1, got {over_clustering}")
        self.over_clustering = over_clustering
        self._nmi = Nmi(average)

    def clusters(self, classes: int) -> int:
        """Clusters that k-means looks for."""
        return self.over_clustering * classes

    def __call__(self, table: Contingency) -> float:
        """In 0..1."""
        return self._nmi(table)
