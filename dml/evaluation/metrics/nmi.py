"""Normalised mutual information of the classes and as many k-means clusters.

    I(classes; clusters) / mean(H(classes), H(clusters))

The mean is arithmetic (scikit-learn's default) or geometric (`I / sqrt(H H)`, the label-noise paper). One class and
one cluster: 1; one of the two alone: 0.
"""

from __future__ import annotations

from dml.evaluation.clustering import Contingency, entropy, mean_entropy, mutual_information


class Nmi:
    """NMI."""

    def __init__(self, average: str = "arithmetic") -> None:
        mean_entropy(1.0, 1.0, average)
        self.average = average

    def clusters(self, classes: int) -> int:
        """Clusters asked of k-means."""
        return classes

    def __call__(self, table: Contingency) -> float:
        """In 0..1."""
        if 1 in (parts := (len(table.classes), len(table.clusters))):
            return float(parts[0] == parts[1])
        mean = mean_entropy(entropy(table.classes), entropy(table.clusters), self.average)
        return mutual_information(table) / mean
