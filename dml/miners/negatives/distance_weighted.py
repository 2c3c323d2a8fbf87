"""Distance-weighted sampling: P(n | a) proportional to 1 / q(d), where d is the distance between unit vectors and

    log q(d) = (D - 2) log d + (D - 3) / 2 log(1 - d^2 / 4)

is the density of pairwise distances on the unit sphere in D dimensions. All distances are drawn about equally often.
Wu, Manmatha, Smola and Kraehenbuehl, "Sampling matters in deep embedding learning", ICCV 2017, section 4.

- Distances below `cutoff` weigh as much as the cutoff (the paper's lambda). A negative beyond `max_distance`
  (Euclidean; such pairs have no loss) has probability 0. If all of an anchor's negatives are beyond it, they are drawn
  by the density's weights; the authors' code draws uniformly then.
- Weights stay logarithms until each ROW's maximum is subtracted. A near-duplicate at D = 512 weighs e^370 times more
  than other negatives: it decides its own anchor's draw, and must not underflow the weights of other anchors.
- 1 - d^2 / 4 is at least the precision's epsilon, so the weight is finite at d = 2 and slightly beyond it.
- The density is that of unit vectors, so d is the distance between the normalised embeddings even if the miner does not
  normalise or compares squared distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.settings import check_above, check_number
from dml.types import Space, Uniform

NEGLIGIBLE = -80.0  # a log weight that changes no sum and does not underflow in exp, which would be slow on a CPU


class DistanceWeighted:
    """A random negative by the inverse density of its distance, drawn separately for each positive.

    Parameters
    ----------
    cutoff : distance below which weights are constant, between 0 and 2.
    max_distance : distance beyond which nothing is drawn if there is a nearer negative; above `cutoff`.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {"cutoff": Uniform(0.2, 0.8)}

    def __init__(self, cutoff: float = 0.5, max_distance: float = 1.4) -> None:
        check_above("cutoff", cutoff, 0)
        if not cutoff < 2:
            raise ValueError(f"cutoff: expected a number < 2; got {cutoff!r}")
        check_number("max_distance", max_distance)
        if not max_distance > cutoff:
            raise ValueError(f"max_distance: expected a number > cutoff ({cutoff!r}); got {max_distance!r}")
        self.cutoff, self.max_distance = cutoff, max_distance

    def log_weights(self, squared: Tensor, dimension: int) -> Tensor:
        """squared distances (...) -> -log q (...) up to a constant; finite for every distance."""
        clipped = squared.clamp(self.cutoff**2, 4)
        surface = clipped.mul(-0.25).add_(1).clamp_min_(torch.finfo(squared.dtype).eps).log_()
        return clipped.log_().mul_((2 - dimension) / 2).add_(surface, alpha=(3 - dimension) / 2)

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
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
        # Excluded samples weigh e^-80 instead of 0, and the product may round up to the total.
        chosen = torch.where(excluded.gather(1, chosen), heaviest, chosen)
        return chosen.masked_fill(batch.available[:, None] == 0, -1)
