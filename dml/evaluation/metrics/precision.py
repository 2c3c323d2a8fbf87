"""Precision@K: the share of a query's K nearest that have its class. It divides by K even if the gallery is smaller."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.evaluation.relevance import Hits


class Precision:
    """Precision@k of each query.

    Parameters
    ----------
    k : neighbours to look at, at least 1.
    """

    version: ClassVar[int] = 1

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"precision: k: expected at least 1, got {k}")
        self.k = k

    def depth(self, most: int) -> int:
        """Neighbours needed: k."""
        return self.k

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum(hits.rank <= self.k) / self.k
