"""One other sample of the anchor's class, each with the same probability."""

from __future__ import annotations

from torch import Tensor

from dml.miners._batch import Batch, Draw
from dml.miners._choose import one_of


class Random:
    """A random positive of the anchor."""

    def __call__(self, batch: Batch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = one_of(batch.mates >= 0, draw(batch.mates[:, :1].shape))
        return batch.at(batch.mates, place, -1)
