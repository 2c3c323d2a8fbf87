"""Every sample of another class. `all` positives with `all` negatives is every valid triple of the batch."""

from __future__ import annotations

from torch import Tensor

from dml.miners._batch import Batch, Draw


class All:
    """All negatives of the anchor, whichever the positive."""

    def __call__(self, batch: Batch, positives: Tensor, draw: Draw) -> Tensor:
        """-> bool (N, N)."""
        return ~batch.same
