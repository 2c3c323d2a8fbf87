"""Every sample of another class. With `all` positives this gives every valid triple of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.types import Space


class All:
    """All negatives of the anchor, for each of its positives."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """-> bool (N, N)."""
        return ~batch.same
