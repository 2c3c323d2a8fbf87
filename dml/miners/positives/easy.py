"""Easy positive sampling: p = argmin over t in C_a of d(a, t), the anchor's nearest class mate.

Levi, Xiao, Wang and Darrell, "Rethinking preventing class-collapsing in metric learning with margin-based losses",
section 4.3. Among equally near mates the first in the batch is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.types import Space


class Easy:
    """The nearest positive of the anchor."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = batch.at(batch.distance, batch.mates, torch.inf).min(dim=1, keepdim=True).indices
        return batch.mates.gather(1, place)
