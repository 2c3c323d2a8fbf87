"""A random positive that is farther than the anchor's nearest negative; where there is none, any positive.

p ~ uniform {t in C_a : d(a, t) > min over n of d(a, n)}, or uniform C_a where that set is empty: the semi-hard
positives of the framework behind the easy-positive paper's tables (Roth et al., "Revisiting training strategies and
generalization performance in deep metric learning", ICML 2020).
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw
from dml.miners._choose import one_of


class Semihard:
    """A random positive beyond the nearest negative."""

    def __call__(self, batch: Batch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        nearest = batch.far.amin(dim=1, keepdim=True)
        beyond = batch.at(batch.distance, batch.mates, -torch.inf) > nearest
        admissible = torch.where(beyond.any(dim=1, keepdim=True), beyond, batch.mates >= 0)
        return batch.at(batch.mates, one_of(admissible, draw(nearest.shape)), -1)
