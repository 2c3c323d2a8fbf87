"""One sample of another class for each positive, all with the same probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.miners._choose import rank
from dml.protocols import Draw
from dml.types import Space


class Random:
    """A random negative of the anchor, drawn separately for each positive."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        place = rank(draw(positives.shape), batch.available[:, None])
        place = place + batch.count[:, None] * (place >= batch.start[:, None])  # skip the anchor's class
        chosen = batch.order[place.clamp_max(batch.size - 1)]
        return chosen.masked_fill(batch.available[:, None] == 0, -1)
