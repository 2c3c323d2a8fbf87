"""MAP@R (Musgrave et al. 2020, A Metric Learning Reality Check, section 3.2).

    1/R  sum over i = 1..R of  P(i) where the i-th nearest is relevant, else 0

with R the number of rows relevant for the query and P(i) the precision among its i nearest.
"""

from __future__ import annotations

import numpy as np

from dml.evaluation.relevance import Hits


class MapAtR:
    """Mean average precision at R; R differs from query to query."""

    def depth(self, most: int) -> int:
        """Neighbours needed."""
        return most

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        within = hits.rank <= hits.positives[hits.row]
        return hits.sum(np.where(within, hits.nth / hits.rank, 0.0)) / np.maximum(hits.positives, 1)
