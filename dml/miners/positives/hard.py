"""The hard positive: p = argmax over t in C_a of d(a, t), the anchor's farthest class mate.

Hermans, Beyer and Leibe, "In defense of the triplet loss for person re-identification", 2017, equation 5 (with `hard`
negatives: batch-hard). Of equally far ones the first in the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw


class Hard:
    """The farthest positive of the anchor."""

    def __call__(self, batch: Batch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = batch.at(batch.distance, batch.mates, -torch.inf).max(dim=1, keepdim=True).indices
        return batch.mates.gather(1, place)
