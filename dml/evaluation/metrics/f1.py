"""Pairwise F1 of the classes and as many k-means clusters.

    2 TP / (pairs in clusters + pairs in classes)

A pair of samples is predicted positive if it is in one cluster, and is positive if it is of one class.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.evaluation.clustering import Contingency


def _pairs(sizes: np.ndarray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


class F1:
    """Pairwise F1 of a clustering into as many clusters as classes."""

    version: ClassVar[int] = 1
    own_clusters: ClassVar[bool] = False

    def clusters(self, classes: int) -> int:
        """Clusters that k-means looks for."""
        return classes

    def __call__(self, table: Contingency) -> float:
        """In 0..1; 1 if neither partition has a pair."""
        both = _pairs(table.classes) + _pairs(table.clusters)
        return 2 * _pairs(table.counts) / both if both else 1.0
