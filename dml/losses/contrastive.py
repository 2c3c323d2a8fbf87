"""Contrastive loss, a mean over pairs.

    hadsell:  positive 1/2 d^2,  negative 1/2 [margin - d]_+^2      (Hadsell, Chopra, LeCun 2006, eq. 4)
    squared:  positive d^2,      negative [margin - d^2]_+          (Levi et al., Preventing class-collapsing, sec. 3)

Pytorch-metric-learning's default is another one: d and [margin - d]_+, each averaged over its own non-zero pairs.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, by_kind, divisor, pair_weights
from dml.losses._geometry import Geometry, dot, prepared, roots, safe_root, squared_distances
from dml.losses._settings import REDUCTIONS, check_batch, check_choice
from dml.types import Choice, Space, Uniform


class Contrastive(nn.Module):
    """Pulls positive pairs together, pushes negative pairs to at least `margin`.

    Parameters
    ----------
    margin : the distance (`hadsell`) or squared distance (`squared`) from which a negative pair costs nothing.
    form : `hadsell` or `squared`.
    reduction : `mean` over the pairs, `nonzero` (over those with a positive loss) or `sum`.
    normalize : L2-normalise the embeddings.

    Example
    -------
    >>> loss = Contrastive(margin=0.5, form="squared")
    >>> value = loss(embeddings, labels)  # scalar
    """

    uses_tuples: ClassVar[bool] = True
    search_space: ClassVar[dict[str, Space]] = {
        "margin": Uniform(0.3, 1.4),
        "form": Choice(("hadsell", "squared")),
    }

    def __init__(self, margin: float = 1.0, form: str = "hadsell", reduction: str = "mean", normalize: bool = True):
        super().__init__()
        check_choice("form", form, ("hadsell", "squared"))
        check_choice("reduction", reduction, REDUCTIONS)
        self.margin, self.form, self.reduction, self.normalize = margin, form, reduction, normalize
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        check_batch(embeddings, labels)
        geometry = Geometry(embeddings, self.normalize)
        squared = geometry.squared()
        positives, negatives = pair_weights(labels, tuples, squared.dtype)
        count = positives.sum() + negatives.sum()
        if self.form == "hadsell":
            distances, inverse = roots(squared)
            gap = torch.relu_(self.margin - distances)
            pull, push = positives * distances, negatives * gap
            total = (dot(pull, distances) + dot(push, gap)) / 2
            active = dot(positives, distances.sign_()) + dot(negatives, gap.sign_())
            gradient, twice = push.neg_().add_(pull).mul_(inverse), 2
        else:
            gap = torch.relu_(self.margin - squared)
            total = dot(positives, squared) + dot(negatives, gap)
            active = dot(positives, squared.sign_())
            push = negatives.mul_(gap.sign_())
            active = active + push.sum()
            gradient, twice = positives.sub_(push), 1
        over = divisor(self.reduction, count, active)
        self.last = {"active_share": active / count.clamp(min=1)}
        return geometry.finish(total / over, squared=gradient, over=twice * over)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's loss and how often it counts, (N^2,) or (2 N^2,) both; differentiable by autograd."""
        squared = squared_distances(prepared(embeddings, self.normalize))
        positives, negatives = pair_weights(labels, tuples, squared.dtype)
        if self.form == "hadsell":
            as_positive, as_negative = 0.5 * squared, 0.5 * torch.relu(self.margin - safe_root(squared)).square()
        else:
            as_positive, as_negative = squared, torch.relu(self.margin - squared)
        return by_kind(as_positive, as_negative, positives, negatives, tuples)
