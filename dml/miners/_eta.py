"""How much more often near negatives are drawn than under uniform drawing: the eta of the label-noise bounds.

"Deep embedding losses under label noise", section 4.2, leaves eta = max over pairs of eta_ij to intuition; here it is
estimated from the tuples that training draws, as the largest ratio of the drawn to the uniform density over bins of the
negative's distance. Uniform drawing is what the same anchors would have drawn: as many negatives each, every one of the
anchor's negatives as likely.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dml.miners._batch import Batch
from dml.types import Pairs, Tuples


class NegativeDistances:
    """Counts of negative distances, drawn and expected, over the batches it is shown; it never synchronises.

        seen = NegativeDistances()
        seen.update(embeddings, labels, tuples)  # in training, as often as one likes: one Gram matrix each
        seen.eta()

    Parameters
    ----------
    bins : of equal width, over [0, high]; what is farther goes into the last.
    high : Euclidean distance; 2 is the largest between normalised embeddings.
    normalize : L2-normalise embeddings first.

    Attributes
    ----------
    drawn, uniform : float64 (bins,), how many negatives were drawn, and how many uniform drawing would be expected to
        draw. Both sum to the number of tuples seen.
    """

    def __init__(self, bins: int = 40, high: float = 2.0, normalize: bool = True) -> None:
        if bins < 1:
            raise ValueError(f"bins: expected a number from 1 up, got {bins!r}")
        if not high > 0:
            raise ValueError(f"high: expected a number above 0, got {high!r}")
        self.bins, self.high, self.normalize = bins, high, normalize
        self.drawn = torch.zeros(bins, dtype=torch.float64)
        self.uniform = torch.zeros(bins, dtype=torch.float64)

    @property
    def edges(self) -> Tensor:
        """float64 (bins + 1,): the bins' borders."""
        return torch.linspace(0, self.high, self.bins + 1, dtype=torch.float64)

    @torch.no_grad()
    def update(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | Pairs | Sequence[Tensor]) -> None:
        """Count one batch.

        Parameters
        ----------
        embeddings : (N, D), N > 0.
        labels : int64 (N,), those that the tuples were chosen by.
        tuples : Tuples (padded or not), Pairs, or 3 or 4 index tensors; of four, the last two are the negative pairs.
        """
        with torch.autocast(embeddings.device.type, enabled=False):
            batch = Batch(embeddings, labels, normalize=self.normalize, squared=False, width=1)
            where = (batch.distance * (self.bins / self.high)).nan_to_num(nan=0).long()  # (N, N) bin
            where = where.clamp_(0, self.bins - 1)
        times = torch.zeros(where.shape, dtype=torch.float64, device=where.device)  # how often each pair was drawn
        if isinstance(tuples, Pairs):
            times += tuples.negatives * tuples.positives.sum(dim=1, keepdim=True)
        else:
            anchors, negatives = tuples[-2 if len(tuples) == 4 else 0], tuples[-1]
            pair = anchors.clamp_min(0) * batch.size + negatives.clamp_min(0)
            times.view(-1).index_add_(0, pair, (anchors >= 0).double())
        share = times.sum(dim=1, keepdim=True) / batch.available.clamp_min(1)[:, None]
        self.drawn = self._add(self.drawn, where, times)
        self.uniform = self._add(self.uniform, where, share.masked_fill(batch.same, 0))

    def _add(self, counts: Tensor, where: Tensor, weights: Tensor) -> Tensor:
        return counts.to(where.device).index_add(0, where.flatten(), weights.flatten())

    def ratio(self) -> Tensor:
        """float64 (bins,): drawn over uniform; 0 where neither has any."""
        return torch.where(self.uniform > 0, self.drawn / self.uniform, 0)

    def eta(self, minimum: float = 100) -> Tensor:
        """The largest ratio of bins with at least `minimum` expected uniform draws, 0-d float64; 0 where none has."""
        return self.ratio().masked_fill(self.uniform < minimum, 0).amax()
