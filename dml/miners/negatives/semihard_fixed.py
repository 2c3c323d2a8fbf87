"""Fixed semi-hard: the hardest negative beyond the positive, n = argmin {d(a, n) : d(a, n) > d(a, p)}.

"Deep embedding losses under label noise", equation 29. A positive beyond all negatives gets none. Distances are those
that the miner was given, so the order is the same for `euclidean` and `squared`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw
from dml.miners._choose import nearest_above


class SemihardFixed:
    """The nearest negative that is farther than the positive."""

    def __call__(self, batch: Batch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        return nearest_above(batch.far, batch.at(batch.distance, positives, torch.inf))
