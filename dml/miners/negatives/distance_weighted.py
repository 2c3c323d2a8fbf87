"""Distance-weighted sampling: P(n | a) proportional to 1 / q(d), with d the distance between unit vectors and

    log q(d) = (D - 2) log d + (D - 3) / 2 log(1 - d^2 / 4),

the density of pairwise distances on the unit sphere in D dimensions, so that all distances are drawn about as often.
Wu, Manmatha, Smola and Kraehenbuehl, "Sampling matters in deep embedding learning", ICCV 2017, section 4.

- Below `cutoff` the weight is that of the cutoff (their lambda). A negative beyond `max_distance` (Euclidean; such
  pairs have no loss) has probability 0, unless the anchor has no other: then the weights are the density's again.
  (Their code draws uniformly there.)
- The weights stay logarithms until the maximum of each ROW is subtracted: one near-duplicate at D = 512 decides its own
  anchor's draw (it weighs e^370 times more) and no other's.
- 1 - d^2 / 4 is kept at or above the precision's epsilon, so a pair at d = 2, or beyond it by rounding, is finite.
- The density is one on the sphere: where the miner does not normalise, d is still the distance between the normalised
  embeddings, as it is where the miner compares squared distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw
from dml.types import Space, Uniform

NEGLIGIBLE = -80.0  # log of a weight that alters no sum, and not so small that exp underflows, which is slow on a CPU


class DistanceWeighted:
    """A random negative, by the inverse density of its distance, drawn anew for each positive.

    Parameters
    ----------
    cutoff : distance below which weights grow no more, above 0 and below 2.
    max_distance : distance beyond which nothing is drawn unless there is nothing else; above `cutoff`.
    """

    search_space: ClassVar[Mapping[str, Space]] = {"cutoff": Uniform(0.2, 0.8)}

    def __init__(self, cutoff: float = 0.5, max_distance: float = 1.4) -> None:
        if not 0 < cutoff < 2:
            raise ValueError(f"cutoff: expected a number between 0 and 2, got {cutoff!r}")
        if not max_distance > cutoff:
            raise ValueError(f"max_distance: expected a number above cutoff ({cutoff!r}), got {max_distance!r}")
        self.cutoff, self.max_distance = cutoff, max_distance

    def log_weights(self, squared: Tensor, dimension: int) -> Tensor:
        """squared distances (...) -> -log q (...), without its constant; finite whatever the distance."""
        clipped = squared.clamp(self.cutoff**2, 4)
        surface = clipped.mul(-0.25).add_(1).clamp_min_(torch.finfo(squared.dtype).eps).log_()
        return clipped.log_().mul_((2 - dimension) / 2).add_(surface, alpha=(3 - dimension) / 2)

    def __call__(self, batch: Batch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        far = batch.chordal.masked_fill(batch.same, torch.inf)
        limit = torch.full_like(far[:, :1], self.max_distance**2)
        limit = limit.masked_fill_(far.amin(dim=1, keepdim=True) > limit, torch.finfo(far.dtype).max)
        excluded = far > limit
        logs = self.log_weights(far, batch.dimension).masked_fill_(excluded, -torch.inf)
        best, heaviest = logs.max(dim=1, keepdim=True)
        running = logs.sub_(best).clamp_min_(NEGLIGIBLE).exp_().cumsum(dim=1)
        drawn = draw(positives.shape).to(running.dtype) * running[:, -1:]
        chosen = torch.searchsorted(running, drawn, right=True).clamp_max(batch.size - 1)
        # What is excluded weighs e^-80, not 0, and a product may round up to the total: take the likeliest one there.
        chosen = torch.where(excluded.gather(1, chosen), heaviest, chosen)
        return chosen.masked_fill(batch.available[:, None] == 0, -1)
