"""Lifted structured similarity softmax, LSSS (Song, Xiang, Jegelka, Savarese 2016, eq. 4).

    J_ij = log( sum_n exp(margin - d_in) + sum_n exp(margin - d_jn) ) + d_ij
    L = mean over positive pairs of 1/2 [J_ij]_+^2

n runs over the negatives of i and over those of j. A positive pair neither end of which has a negative costs 0.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, pair_masks
from dml.losses._geometry import Geometry, dot, prepared, roots, safe_root, squared_distances
from dml.losses._settings import check_batch
from dml.types import Space, Uniform

NONE = 1e30  # stands for the infinite distance of a negative that is not there


class LiftedStructure(nn.Module):
    """Each positive pair against all negatives of both its ends.

    Parameters
    ----------
    margin : added to each negative's similarity -d, in distance.
    normalize : L2-normalise the embeddings.
    """

    uses_tuples: ClassVar[bool] = True
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.2, 2.0)}

    def __init__(self, margin: float = 1.0, normalize: bool = True):
        super().__init__()
        self.margin, self.normalize = margin, normalize
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        check_batch(embeddings, labels)
        geometry = Geometry(embeddings, self.normalize)
        distances, inverse = roots(geometry.squared())
        positives, negatives = pair_masks(labels, tuples, distances.dtype)
        exponents = (1 - negatives).mul_(-NONE).sub_(distances)
        top = exponents.amax(1, keepdim=True)
        terms = exponents.sub_(top).exp_().mul_(negatives)
        total = terms.sum(1, keepdim=True)
        some = (total > 0).to(distances.dtype)
        pushed = torch.log(total + (1 - some)) + top.clamp(min=-NONE) + self.margin  # (N, 1): log-sum-exp of each end
        count = positives.sum().clamp(min=1)
        higher = torch.maximum(pushed, pushed.T)
        first = torch.exp(pushed - higher)
        both = first + torch.exp(pushed.T - higher)
        cost = torch.relu_(both.log().add_(higher).add_(distances)).mul_(positives)
        value = dot(cost, cost) / (2 * count)
        self.last = {"active_share": cost.sign().sum() / count}
        # From here on, cost is count times dL/dJ.
        by_end = cost * (first / both)
        by_end = (by_end.sum(1) + (cost.sum(0) - by_end.sum(0)))[:, None]
        gradient = cost.sub_(terms.mul_(by_end / (total + (1 - some))))
        return geometry.finish(value, squared=gradient.mul_(inverse), over=2 * count)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's 1/2 [J]_+^2 and whether it is a positive pair, (N^2,) both; differentiable by autograd."""
        distances = safe_root(squared_distances(prepared(embeddings, self.normalize)))
        positives, negatives = pair_masks(labels, tuples, distances.dtype)
        pushed = torch.logsumexp(self.margin - distances - (1 - negatives) * NONE, 1)
        losses = torch.relu(torch.logaddexp(pushed[:, None], pushed) + distances).square() / 2
        return losses.flatten(), positives.flatten()
