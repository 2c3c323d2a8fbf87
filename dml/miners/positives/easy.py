"""Easy positive sampling: p = argmin over t in C_a of d(a, t), the anchor's nearest class mate.

Levi, Xiao, Wang and Darrell, "Rethinking preventing class-collapsing in metric learning with margin-based losses",
section 4.3. Of equally near ones the first in the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw


class Easy:
    """The nearest positive of the anchor."""

    def __call__(self, batch: Batch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = batch.at(batch.distance, batch.mates, torch.inf).min(dim=1, keepdim=True).indices
        return batch.mates.gather(1, place)
