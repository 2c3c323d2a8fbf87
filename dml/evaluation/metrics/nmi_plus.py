"""NMI+: the NMI of a clustering into more clusters than classes (easy positive sampling, table 1).

`over_clustering` x classes clusters: 10 for Cars and CUB, 30 for Omniglot's languages. A class that is spread over
several modes is not punished for it.
"""

from __future__ import annotations

from dml.evaluation.clustering import Contingency
from dml.evaluation.metrics.nmi import Nmi


class NmiPlus:
    """NMI with `over_clustering` times as many clusters as classes."""

    def __init__(self, over_clustering: int = 10, average: str = "arithmetic") -> None:
        if over_clustering < 1:
            raise ValueError(f"over_clustering: expected at least 1, got {over_clustering}")
        self.over_clustering = over_clustering
        self._nmi = Nmi(average)

    def clusters(self, classes: int) -> int:
        """Clusters asked of k-means."""
        return self.over_clustering * classes

    def __call__(self, table: Contingency) -> float:
        """In 0..1."""
        return self._nmi(table)
