"""Pairwise F1 of the classes and as many k-means clusters.

A pair of samples in one cluster is a positive prediction, a pair of one class a true one:
F1 = 2 TP / (pairs in clusters + pairs in classes), from the sizes of cells, clusters and classes alone.
"""

from __future__ import annotations

import numpy as np

from dml.evaluation.clustering import Contingency


def _pairs(sizes: np.ndarray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


class F1:
    """Pairwise F1."""

    def clusters(self, classes: int) -> int:
        """Clusters asked of k-means."""
        return classes

    def __call__(self, table: Contingency) -> float:
        """In 0..1; 1 where neither partition has a pair."""
        both = _pairs(table.classes) + _pairs(table.clusters)
        return 2 * _pairs(table.counts) / both if both else 1.0
