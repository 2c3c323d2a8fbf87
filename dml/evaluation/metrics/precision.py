"""Precision@K: the share of a query's K nearest that have its class. A gallery of fewer than K still divides by K."""

from __future__ import annotations

import numpy as np

from dml.evaluation.relevance import Hits


class Precision:
    """Precision@k."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"precision: expected k >= 1, got {k}")
        self.k = k

    def depth(self, most: int) -> int:
        """Neighbours needed."""
        return self.k

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum(hits.rank <= self.k) / self.k
