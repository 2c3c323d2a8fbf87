"""One other sample of the anchor's class, all with the same probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.miners._choose import one_of
from dml.protocols import Draw
from dml.types import Space


class Random:
    """A random positive of the anchor."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = one_of(batch.mates >= 0, draw(batch.mates[:, :1].shape))
        return batch.at(batch.mates, place, -1)
