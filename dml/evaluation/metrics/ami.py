"""Mutual information adjusted for chance (Vinh, Epps & Bailey 2010), of the classes and as many k-means clusters.

    (I - E[I]) / (mean(H(classes), H(clusters)) - E[I])

E[I] is over random partitions with the same sizes (equation 24a). It depends only on the sizes, so each pair of
distinct sizes is computed once, however many classes and clusters have them: 11,316 of both take seconds.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from dml.evaluation.clustering import Contingency, mutual_information
from dml.evaluation.metrics._information import SharedInformation


def expected_mutual_information(classes: np.ndarray, clusters: np.ndarray) -> float:
    """E[I] in nats for partitions into parts of these sizes, int64 (C,) and (K,)."""
    n = int(classes.sum())
    factorial = gammaln(np.arange(n + 2) + 1.0)  # factorial[i] = log(i!)
    sizes, times = np.unique(clusters, return_counts=True)
    total = 0.0
    for a, times_a in zip(*np.unique(classes, return_counts=True), strict=True):
        least = np.maximum(1, a + sizes - n)
        cells = np.minimum(a, sizes) - least + 1  # for each pair of sizes; at most n in all
        b = sizes.repeat(cells)
        cell = np.arange(cells.sum()) + (least - (cells.cumsum() - cells)).repeat(cells)
        log_probability = (
            factorial[a] + factorial[b] + factorial[n - a] + factorial[n - b] - factorial[n] - factorial[cell]
        ) - (factorial[a - cell] + factorial[b - cell] + factorial[n - a - b + cell])
        information = cell / n * (np.log(n) + np.log(cell) - np.log(a) - np.log(b))
        total += float(times_a * (times.repeat(cells) * information * np.exp(log_probability)).sum())
    return total


class Ami(SharedInformation):
    """Adjusted mutual information: at most 1, about 0 for a random clustering."""

    version: ClassVar[int] = 1

    def _score(self, table: Contingency, mean: float) -> float:
        expected = expected_mutual_information(table.classes, table.clusters)
        room = mean - expected
        least = float(np.finfo(np.float64).eps)
        return (mutual_information(table) - expected) / (min(room, -least) if room < 0 else max(room, least))
