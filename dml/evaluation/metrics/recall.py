"""Recall@K as metric learning defines it: 1 if any of a query's K nearest has its class, else 0.

It is neither precision@K nor the share of the relevant rows found (Jegou et al. 2011; Oh Song et al. 2016).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.evaluation.relevance import Hits


class Recall:
    """Recall@k of each query.

    Parameters
    ----------
    k : neighbours to look at, at least 1.
    """

    version: ClassVar[int] = 1

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"recall: k: expected at least 1, got {k}")
        self.k = k

    def depth(self, most: int) -> int:
        """Neighbours needed: k."""
        return self.k

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum((hits.nth == 1) & (hits.rank <= self.k))
