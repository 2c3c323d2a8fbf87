"""Lifted structured similarity softmax, LSSS (Song, Xiang, Jegelka, Savarese 2016, eq. 4).

    J_ij = log( sum_n exp(margin - d_in) + sum_n exp(margin - d_jn) ) + d_ij
    L = mean over positive pairs of 1/2 [J_ij]_+^2

The first sum runs over the negatives of i, the second over those of j. A positive pair costs 0 if neither of its ends
has a negative.

Search space: from a fifth to twice Song et al.'s margin of 1; distances of unit vectors are at most 2.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels, pair_masks
from dml.losses._geometry import Geometry, PullBack, through
from dml.losses._pairs import HalfSquare, PairLoss
from dml.types import Space, Uniform

NONE = 1e30  # represents the infinite distance of a negative that is not given


class LiftedStructure(PairLoss):
    """Each positive pair against all negatives of both its ends.

    Parameters
    ----------
    margin : added to each negative's similarity -d, in distance.
    normalize : L2-normalise the embeddings.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.2, 2.0)}

    def __init__(self, margin: float = 1.0, normalize: bool = True):
        super().__init__(normalize)
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry = Geometry(embeddings, "euclidean", self.normalize)
        positives, negatives = pair_masks(labels, tuples, geometry.matrix.dtype)
        count = positives.sum().clamp(min=1)
        lifted, pull_back = self._lifted(geometry.matrix, negatives)
        total, slope, active = HalfSquare(lifted).weighted(positives)
        self.stats = {"active_share": active / count}
        return geometry.finish(total / count, pull_back(slope), over=count)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's 1/2 [J]_+^2 and whether it is a positive pair, (N^2,) both; differentiable by autograd."""
        labels = checked_labels(embeddings, labels)
        distances = Geometry(embeddings, "euclidean", self.normalize).attached()
        positives, negatives = pair_masks(labels, tuples, distances.dtype)
        lifted = through(distances, *self._lifted(distances.detach(), negatives))
        return HalfSquare(lifted).each().flatten(), positives.flatten()

    def _lifted(self, d: Tensor, negatives: Tensor) -> tuple[Tensor, PullBack]:
        """J (N, N)."""
        if not len(d):
            return d, lambda slope: slope
        push, back_to_distances = _log_sum_exp(d, negatives)
        both, back_to_push = _log_add_exp(push + self.margin)
        return both.add_(d), lambda slope: back_to_distances(back_to_push(slope)).add_(slope)


def _log_sum_exp(d: Tensor, negatives: Tensor) -> tuple[Tensor, PullBack]:
    """log sum_n exp(-d_in) over the negatives of each row, (N, 1); -NONE for a row without."""
    exponents = (1 - negatives).mul_(-NONE).sub_(d)
    top = exponents.amax(1, keepdim=True)
    terms = exponents.sub_(top).exp_().mul_(negatives)
    total = terms.sum(1, keepdim=True)
    total += total == 0
    return total.log() + top.clamp(min=-NONE), lambda slope: terms * (-slope / total)


def _log_add_exp(z: Tensor) -> tuple[Tensor, PullBack]:
    """log(exp(z_i) + exp(z_j)) of a column z (N, 1), (N, N)."""
    top = torch.maximum(z, z.T)
    first = torch.exp(z - top)
    total = torch.exp(z.T - top).add_(first)
    share = first.div_(total)

    def back(slope: Tensor) -> Tensor:
        of_row = slope * share
        return (of_row.sum(1) + (slope.sum(0) - of_row.sum(0)))[:, None]

    return total.log_().add_(top), back
