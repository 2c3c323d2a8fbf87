"""Normalised mutual information of the classes and as many k-means clusters.

    I(classes; clusters) / mean(H(classes), H(clusters))

The mean is arithmetic (scikit-learn's default) or geometric (`I / sqrt(H H)`, the label-noise paper). With one class
and one cluster NMI is 1, and with only one of either 0.
"""

from __future__ import annotations

from typing import ClassVar

from dml.evaluation.clustering import Contingency, mutual_information
from dml.evaluation.metrics._information import SharedInformation


class Nmi(SharedInformation):
    """NMI, in 0..1."""

    version: ClassVar[int] = 1

    def _score(self, table: Contingency, mean: float) -> float:
        return mutual_information(table) / mean
