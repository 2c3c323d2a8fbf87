"""The hard positive: p = argmax over t in C_a of d(a, t), the anchor's farthest class mate.

Hermans, Beyer and Leibe, "In defense of the triplet loss for person re-identification", 2017, equation 5 (batch-hard,
with `hard` negatives). Among equally far mates the first in the batch is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.types import Space


class Hard:
    """The farthest positive of the anchor."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = batch.at(batch.distance, batch.mates, -torch.inf).max(dim=1, keepdim=True).indices
        return batch.mates.gather(1, place)
