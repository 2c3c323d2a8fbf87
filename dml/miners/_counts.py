"""Counts of negative distances during training, from which `dml.theory.eta` estimates the skew of the sampling.

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 4.2, bound the tolerable
noise rate by eta: how much more often some negatives are drawn than under uniform drawing. For each bin of distance
this class counts the negatives that were drawn, and how many the same anchors would have drawn uniformly: as many
negatives each, with the same probability for every negative of the anchor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.types import Pairs, Tuples


class NegativeDistances:
    """Counts of negatives by distance, drawn and expected. Updating never synchronises with the device.

        seen = NegativeDistances()
        seen.update(embeddings, labels, tuples)        # in training; costs one Gram matrix
        dml.theory.eta.estimate(**seen.counts())       # Skew(eta, low, high, ...)

    Parameters
    ----------
    bins : number of bins of equal width over [0, high]. Larger distances count in the last bin.
    high : a Euclidean distance; 2 is the largest between normalised embeddings.
    normalize : L2-normalise embeddings first.

    Attributes
    ----------
    drawn, uniform : float64 (bins,), the negatives drawn, and those expected under uniform drawing. Both sum to the
        number of tuples seen.
    """

    def __init__(self, bins: int = 100, high: float = 2.0, normalize: bool = True) -> None:
        if bins < 1:
            raise ValueError(f"bins: expected a number from 1 up, got {bins!r}")
        if not high > 0:
            raise ValueError(f"high: expected a number above 0, got {high!r}")
        self.bins, self.high, self.normalize = bins, high, normalize
        self.drawn = torch.zeros(bins, dtype=torch.float64)
        self.uniform = torch.zeros(bins, dtype=torch.float64)

    @property
    def edges(self) -> Tensor:
        """float64 (bins + 1,): the borders of the bins."""
        return torch.linspace(0, self.high, self.bins + 1, dtype=torch.float64)

    @torch.no_grad()
    def update(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | Pairs | Sequence[Tensor]) -> None:
        """Count one batch.

        Parameters
        ----------
        embeddings : (N, D), N > 0.
        labels : int64 (N,), the labels that the miner used.
        tuples : Tuples (padded or not), Pairs, or 3 or 4 index tensors. Of four, the last two are the negative pairs.
        """
        with torch.autocast(embeddings.device.type, enabled=False):
            batch = MinerBatch(embeddings, labels, normalize=self.normalize, squared=False, width=1)
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
        self.drawn = _add(self.drawn, where, times)
        self.uniform = _add(self.uniform, where, share.masked_fill(batch.same, 0))

    def counts(self) -> dict[str, list[float]]:
        """`drawn` and `uniform` as plain numbers, to be stored as JSON (about 1 kB) and pooled over trials."""
        return {
            "drawn": [int(count) for count in self.drawn.tolist()],
            "uniform": [round(count, 3) for count in self.uniform.tolist()],
        }

    def state_dict(self) -> dict[str, Tensor]:
        """The counts so far."""
        return {"drawn": self.drawn, "uniform": self.uniform}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from the counts in `state`."""
        self.drawn, self.uniform = state["drawn"], state["uniform"]


def _add(counts: Tensor, where: Tensor, weights: Tensor) -> Tensor:
    return counts.to(where.device).index_add(0, where.flatten(), weights.flatten())
