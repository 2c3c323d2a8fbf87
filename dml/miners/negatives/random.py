"""One sample of another class for each positive, each with the same probability."""

from __future__ import annotations

from torch import Tensor

from dml.miners._batch import Batch, Draw
from dml.miners._choose import rank


class Random:
    """A random negative of the anchor, drawn anew for each positive."""

    def __call__(self, batch: Batch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        place = rank(draw(positives.shape), batch.available[:, None])
        place = place + batch.count[:, None] * (place >= batch.start[:, None])  # step over the anchor's class
        chosen = batch.order[place.clamp_max(batch.size - 1)]
        return chosen.masked_fill(batch.available[:, None] == 0, -1)
