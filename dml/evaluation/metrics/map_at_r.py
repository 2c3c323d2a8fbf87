"""MAP@R (Musgrave et al. 2020, A Metric Learning Reality Check, section 3.2).

    1/R  sum over i = 1..R of  P(i) if the i-th nearest is relevant, else 0

R is the number of rows relevant to the query, and P(i) the precision among its i nearest.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.evaluation.relevance import Hits


class MapAtR:
    """MAP@R of each query. R differs from query to query."""

    version: ClassVar[int] = 1

    def depth(self, most: int) -> int:
        """Neighbours needed: the largest R."""
        return most

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        within = hits.rank <= hits.positives[hits.row]
        return hits.sum(np.where(within, hits.nth / hits.rank, 0.0)) / np.maximum(hits.positives, 1)
