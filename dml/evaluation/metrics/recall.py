"""Recall@K as metric learning uses it: 1 where any of a query's K nearest has its class, else 0.

It is not precision@K, nor the share of the relevant rows found (Jegou et al. 2011; Oh Song et al. 2016).
"""

from __future__ import annotations

import numpy as np

from dml.evaluation.relevance import Hits


class Recall:
    """Recall@k."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"recall: expected k >= 1, got {k}")
        self.k = k

    def depth(self, most: int) -> int:
        """Neighbours needed."""
        return self.k

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum((hits.nth == 1) & (hits.rank <= self.k))
