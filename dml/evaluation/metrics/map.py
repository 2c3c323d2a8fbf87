"""Mean average precision over the whole ranking, as for re-identification (Zheng et al. 2015, Market-1501).

    AP = 1/R  sum over the R relevant rows of  nth / rank

This is the area under the precision-recall steps. Market-1501's own script interpolates between the steps, which gives
slightly lower values.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.evaluation.relevance import Hits


class Map:
    """Average precision of each query."""

    version: ClassVar[int] = 1

    def depth(self, most: int) -> None:
        """None: the whole ranking is needed."""

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum(hits.nth / hits.rank) / np.maximum(hits.positives, 1)
