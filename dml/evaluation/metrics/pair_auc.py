"""The area under the ROC curve of telling pairs of one class from pairs of two classes by their distance.

This is the probability that a random positive pair is nearer than a random negative pair; pairs in the same step of
distance count half. One less it is the probability of reverse order, which the histogram loss estimates on a batch
(Ustinova & Lempitsky 2016, equation 1) and by which their figure of similarity histograms is read.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np


class PairAuc:
    """AUC of pairs, in 0..1."""

    version: ClassVar[int] = 1

    def of_pairs(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """Numbers of pairs by distance, nearest first, int64 (bins,) -> AUC; NaN without pairs of both kinds."""
        pairs = float(positive.sum()) * float(negative.sum())
        farther = negative.sum() - negative.cumsum() + negative / 2
        return float(positive @ farther / pairs) if pairs else float("nan")
