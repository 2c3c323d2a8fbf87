"""What a trial reports besides its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dml.miners import PairDistances

DISTANCES_EVERY = 5  # steps between two batches whose distances are counted


class Diagnostics:
    """Means over the steps, and counts of the distances of pairs. Updates do not synchronise with the device.

    Parameters
    ----------
    device : of the training.
    count_distances : count the distances of drawn pairs, from which the report estimates eta and gamma of the bounds.

    Attributes
    ----------
    sums : the sum over all steps of the loss and of each number that the loss and the miner report, 0-d float64.
    """

    def __init__(self, device: torch.device, count_distances: bool):
        self._device = device
        self.sums: dict[str, Tensor] = {}
        self._distances = PairDistances() if count_distances else None
        self._not_finite = torch.full((), -1, dtype=torch.int64, device=device)  # the first such step; -1: none

    def add_tuples(
        self, step: int, embeddings: Tensor, labels: Tensor, tuples: Any, kept: Tensor | None = None
    ) -> None:
        """Count the pairs of one batch: embeddings (B, D), labels (B,) and a miner's tuples. Skips most steps.

        `kept` bool (B,): the samples that the miner could choose; None: all.
        """
        if self._distances is not None and step % DISTANCES_EVERY == 0:
            self._distances.update(embeddings, labels, tuples, kept)

    def add_step(self, step: int, loss: Tensor, *stats: Mapping[str, Tensor]) -> None:
        """Add the loss after `step` steps, and the statistics of the parts; all 0-d."""
        self._add("loss", loss)
        for reported in stats:
            for name, value in reported.items():
                self._add(name, value)
        first = (self._not_finite < 0) & ~torch.isfinite(loss)
        self._not_finite = torch.where(first, step, self._not_finite)

    def _add(self, name: str, value: Tensor) -> None:
        value = value.detach().double()
        self.sums[name] = self.sums[name] + value if name in self.sums else value

    def first_not_finite(self) -> int | None:
        """The first step whose loss was infinite or NaN. Synchronises with the device."""
        step = int(self._not_finite)
        return step if step >= 0 else None

    def means(self, steps: int) -> dict[str, float]:
        """Each number's mean over the steps."""
        return {name: float(total) / steps for name, total in self.sums.items()}

    def counts(self) -> dict[str, list[float]]:
        """Negatives per bin of distance: `eta_drawn` as drawn, `eta_uniform` under uniform drawing. Or none.

        `eta_positive_drawn` and `eta_positive_uniform` are those of the positives.
        """
        counted = {} if self._distances is None else self._distances.counts()
        return {f"eta_{name}": values for name, values in counted.items()}

    def state_dict(self) -> dict[str, Any]:
        """The sums and counts."""
        return {"sums": self.sums, "distances": {} if self._distances is None else self._distances.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self.sums = {name: total.to(self._device) for name, total in state["sums"].items()}
        if self._distances is not None:
            self._distances.load_state_dict(state["distances"])
