"""Counts of the distances of drawn pairs, from which the skew of the sampling is estimated: eta and gamma.

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", sections 4.2 and 5.3, bound the
tolerable noise rate by how much more or less often some pairs are drawn than under uniform drawing, with the same
probability for every negative (positive) of the anchor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.tensors import checked_labels, checked_rows
from dml.types import Pairs, Tuples


class Counts(NamedTuple):
    """Pairs by bin of distance, float64 (bins,). Both sum to the number of tuples seen."""

    drawn: Tensor
    uniform: Tensor  # expected under uniform drawing


class PairDistances:
    """Counts of positive and negative pairs by distance, drawn and expected. Updating never waits for the device.

        seen = PairDistances()
        seen.update(embeddings, labels, tuples)        # in training; costs one Gram matrix
        papers.noise.theory.skew.estimate_eta(*seen.negatives)       # Skew(eta, low, high, ...)

    There are `bins` of equal width over Euclidean distances of [0, `high`]; larger ones count in the last bin.
    """

    def __init__(self, bins: int = 100, high: float = 2.0, normalize: bool = True) -> None:
        self.bins, self.high, self.normalize = bins, high, normalize
        self._drawn = torch.zeros(2 * bins, dtype=torch.float64)  # the bins of negatives, then those of positives
        self._uniform = torch.zeros(2 * bins, dtype=torch.float64)

    @property
    def negatives(self) -> Counts:
        """Of pairs of different labels."""
        return Counts(self._drawn[: self.bins], self._uniform[: self.bins])

    @property
    def positives(self) -> Counts:
        """Of pairs of one label."""
        return Counts(self._drawn[self.bins :], self._uniform[self.bins :])

    @torch.no_grad()
    def update(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | Pairs | Sequence[Tensor], kept: Tensor | None = None
    ) -> None:
        """Count one batch: embeddings (N, D), labels int (N,), tuples in any form of a miner; of Pairs, each triple.

        `kept` bool (N,): the samples that the miner could choose; None: all.
        """
        labels = checked_labels(embeddings, labels)
        with torch.autocast(embeddings.device.type, enabled=False):
            batch = MinerBatch(embeddings, labels, normalize=self.normalize, squared=False, width=1, kept=kept)
            where = (batch.distance * (self.bins / self.high)).nan_to_num(nan=0).long()  # (N, N) bin
            where = where.clamp_(0, self.bins - 1).add_(batch.same, alpha=self.bins)
        times = torch.zeros(where.shape, dtype=torch.float64, device=where.device)  # how often each pair was drawn
        if isinstance(tuples, Pairs):
            positives, negatives = tuples.positives.sum(dim=1), tuples.negatives.sum(dim=1)
            times += tuples.positives * negatives[:, None] + tuples.negatives * positives[:, None]
            of_positive = of_negative = (positives * negatives).double()
        else:
            size, device = len(labels), labels.device
            if len(tuples) == 4:
                positive, negative = (checked_rows(size, device, *tuples[k : k + 2]) for k in (0, 2))
            else:
                anchors, others, strangers = checked_rows(size, device, *tuples)
                positive, negative = [anchors, others], [anchors, strangers]
            of_positive, of_negative = _count(times, *positive), _count(times, *negative)
        of_positive = of_positive / (batch.count - 1).clamp_min(1)
        of_negative = of_negative / batch.available.clamp_min(1)
        share = torch.where(batch.same, of_positive[:, None], of_negative[:, None])
        if kept is not None:
            share = share.where(kept, 0)  # nobody could draw them
        self._drawn = _add(self._drawn, where, times)
        self._uniform = _add(self._uniform, where, share.fill_diagonal_(0))

    def counts(self) -> dict[str, list[float]]:
        """Plain numbers, to be stored as JSON (about 2 kB) and pooled over trials.

        `drawn` and `uniform` of the negatives, `positive_drawn` and `positive_uniform` of the positives.
        """
        return {
            f"{prefix}{name}": [round(count, 3) if name == "uniform" else int(count) for count in values.tolist()]
            for prefix, counted in (("", self.negatives), ("positive_", self.positives))
            for name, values in counted._asdict().items()
        }

    def state_dict(self) -> dict[str, Tensor]:
        """The counts so far."""
        return {"drawn": self._drawn, "uniform": self._uniform}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from the counts in `state`.

        Raises ValueError: it has other bins, as before positives were counted.
        """
        if state["drawn"].shape != self._drawn.shape:
            raise ValueError(f"expected {2 * self.bins} bins, got {len(state['drawn'])}")
        self._drawn, self._uniform = state["drawn"], state["uniform"]


def _count(times: Tensor, anchors: Tensor, others: Tensor) -> Tensor:
    """Add 1 to `times` (N, N) at each pair, int64 (T,) both; -1 is padding. Returns the pairs of each anchor, (N,)."""
    row, valid = anchors.clamp_min(0), (anchors >= 0).double()
    times.view(-1).index_add_(0, row * len(times) + others.clamp_min(0), valid)
    return torch.zeros_like(times[0]).index_add_(0, row, valid)


def _add(counts: Tensor, where: Tensor, weights: Tensor) -> Tensor:
    return counts.to(where.device).index_add(0, where.flatten(), weights.flatten())
