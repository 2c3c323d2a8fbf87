"""Smooth top-R: the samples of a batch whose probability of being clean is above a running quantile.

Liu et al., "Noise-resistant deep metric learning with ranking-based instance selection", CVPR 2021, section 3.3: the
threshold is the mean of the R-th quantiles of the last tau batches, this one included.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


def quantile(values: Tensor, share: float) -> Tensor:
    """The quantile of values (N,), interpolated linearly between neighbours; 0-d."""
    ordered = values.sort().values
    place = share * (len(values) - 1)
    low = math.floor(place)
    return torch.lerp(ordered[low], ordered[min(low + 1, len(values) - 1)], place - low)


class SmoothTopR(nn.Module):
    """The running threshold.

    Parameters
    ----------
    rate : R, the share that a batch's quantile leaves out. At 0 every sample is kept.
    window : tau, batches whose quantiles are averaged.
    """

    quantiles: Tensor

    def __init__(self, rate: float, window: int):
        super().__init__()
        self.rate, self.window, self._batches = rate, window, 0
        self.register_buffer("quantiles", torch.zeros(window, dtype=torch.float64))

    def forward(self, probabilities: Tensor) -> Tensor:
        """Probabilities (N,) of being clean -> bool (N,): those above the threshold.

        If none is above it, the batch's own quantile decides, and a sample at the quantile is kept.
        """
        if self.rate == 0:
            return torch.ones_like(probabilities, dtype=torch.bool)
        values = probabilities.double()
        own = quantile(values, self.rate)
        self.quantiles[self._batches % self.window] = own
        self._batches += 1
        threshold = self.quantiles[: self._batches].mean()
        above = values > threshold
        return torch.where(above.any(), above, values >= own)

    def get_extra_state(self) -> dict[str, Any]:
        """How many batches came so far."""
        return {"batches": self._batches}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self._batches = state["batches"]
