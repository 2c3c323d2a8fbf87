"""The negative policies. Each class is a part."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch, nearest_above, one_between, rank
from dml.protocols import Draw
from dml.settings import Shown, check_above, check_number


class All(Shown):
    """Every sample of another class. With `all` positives this gives every valid triple of the batch."""

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """-> bool (N, N)."""
        return ~batch.same


class Random(Shown):
    """One sample of another class for each positive, all with the same probability."""

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        place = rank(draw(positives.shape), batch.available[:, None])
        place = place + batch.count[:, None] * (place >= batch.start[:, None])  # skip the anchor's class
        chosen = batch.order[place.clamp_max(batch.size - 1)]
        return chosen.masked_fill(batch.available[:, None] == 0, -1)


class Hard(Shown):
    """The hard negative: n = argmin of d(a, n), the sample of another class that is nearest to the anchor.

    Hermans, Beyer and Leibe, "In defense of the triplet loss for person re-identification", 2017, equation 5. Among
    equally near samples the first in the batch is chosen.
    """

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        nearest = batch.far.min(dim=1).indices
        return nearest.masked_fill(batch.available == 0, -1)[:, None].expand_as(positives)


class SemihardFixed(Shown):
    """Fixed semi-hard: the nearest negative beyond the positive, n = argmin {d(a, n) : d(a, n) > d(a, p)}.

    Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", equation 29. A positive
    beyond all negatives gets none. The choice is the same for `euclidean` and `squared` distances.
    """

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        return nearest_above(batch.far, batch.at(batch.distance, positives, torch.inf))


class SemihardRandom(Shown):
    """Random semi-hard: a random negative with a positive triplet loss, d(a, p) - d(a, n) + margin > 0.

    Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", equation 28. A positive
    without such a negative gets none.

    `window=True` is the rule of Roth et al., "Revisiting training strategies and generalization performance in deep
    metric learning", ICML 2020: a random negative with d(a, p) < d(a, n) < d(a, p) + margin, or any negative if
    there is none. `margin`: in units of the miner's distance, which may be squared; above 0.
    """

    version: ClassVar[int] = 1

    def __init__(self, margin: float = 0.2, window: bool = False) -> None:
        check_above("margin", margin, 0)
        self.margin, self.window = margin, window

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        reach = batch.at(batch.distance, positives, -torch.inf)
        low = reach if self.window else None
        chosen = one_between(batch.far, low, reach + self.margin, draw(positives.shape))
        if not self.window:
            return chosen
        return torch.where(chosen < 0, Random()(batch, positives, draw), chosen)


NEGLIGIBLE = -80.0  # a log weight that changes no sum and does not underflow in exp, which would be slow on a CPU


class DistanceWeighted(Shown):
    """Distance-weighted sampling: P(n | a) proportional to 1 / q(d), where d is the distance between unit vectors and

        log q(d) = (D - 2) log d + (D - 3) / 2 log(1 - d^2 / 4)

    is the density of pairwise distances on the unit sphere in D dimensions, drawn separately for each positive. Wu,
    Manmatha, Smola and Kraehenbuehl, "Sampling matters in deep embedding learning", ICCV 2017, section 4.

    - If all of an anchor's negatives are beyond `max_distance`, they are drawn by the density's weights; the authors'
      code draws uniformly then.
    - Weights stay logarithms until each ROW's maximum is subtracted: a near-duplicate at D = 512 weighs e^370 times
      more than other negatives, and must not underflow the weights of other anchors.
    - d is the distance between the normalised embeddings even if the miner does not normalise.

    `cutoff`: distance below which weights are constant (the paper's lambda), between 0 and 2. `max_distance`: distance
    beyond which nothing is drawn if there is a nearer negative; above `cutoff`.
    """

    version: ClassVar[int] = 1

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


class MultiSimilarity(Shown):
    """The negatives of multi-similarity mining: {n : s(a, n) > min over p of s(a, p) - epsilon}.

    s is the inner product (the cosine if the miner normalises), and p is one of the positives chosen for the anchor.
    With `multi_similarity` or `all` positives this is Wang et al., CVPR 2019, equation 10: their positives always
    include the least similar one if they include any. With one positive for each anchor it is the same rule given
    that positive, as in easy positive sampling.

    `epsilon`: the mining margin, in units of similarity. A negative one keeps fewer pairs (LoOp, section 4.1: -0.02).
    """

    version: ClassVar[int] = 1

    def __init__(self, epsilon: float = 0.1) -> None:
        check_number("epsilon", epsilon)
        self.epsilon = epsilon

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> bool (N, N)."""
        hardest = batch.at(batch.gram, positives, torch.inf).amin(dim=1, keepdim=True)
        return (batch.gram > hardest - self.epsilon) & ~batch.same
