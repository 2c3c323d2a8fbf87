"""The hard negative: n = argmin of d(a, n), the sample of another class that is nearest to the anchor.

Hermans, Beyer and Leibe, "In defense of the triplet loss for person re-identification", 2017, equation 5. Among
equally near samples the first in the batch is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.types import Space


class Hard:
    """The nearest negative of the anchor, the same for all its positives."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        nearest = batch.far.min(dim=1).indices
        return nearest.masked_fill(batch.available == 0, -1)[:, None].expand_as(positives)
