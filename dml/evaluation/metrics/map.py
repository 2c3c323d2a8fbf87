"""Mean average precision over the whole ranking, as for re-identification (Zheng et al. 2015, Market-1501).

    AP = 1/R  sum over the R relevant rows of  nth / rank

the area under the precision-recall steps. (Market-1501's own script joins the steps by trapezes, which is a
little less.)
"""

from __future__ import annotations

import numpy as np

from dml.evaluation.relevance import Hits


class Map:
    """Mean average precision."""

    def depth(self, most: int) -> None:
        """Every row of the gallery is needed."""

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum(hits.nth / hits.rank) / np.maximum(hits.positives, 1)
