"""Margin loss (Wu, Manmatha, Smola, Kraehenbuehl 2017, Sampling matters, sec. 4.2), a mean over pairs.

    positive [d - beta + margin]_+,   negative [beta - d + margin]_+

beta is learned, one for each class (the anchor's) or one for all, or fixed (Le and Odobez: 1.4). It is in the
state_dict in every case. It wants a far larger learning rate than the network: `parameters()` of this module form
their own group. The paper's regulariser nu * beta is left out (nu = 0 in its experiments).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, by_kind, divisor, pair_weights
from dml.losses._geometry import Geometry, dot, prepared, roots, safe_root, squared_distances
from dml.losses._settings import REDUCTIONS, check_batch, check_choice
from dml.types import Space, Uniform


class Margin(nn.Module):
    """Positive pairs closer than beta - margin, negative pairs farther than beta + margin.

    Parameters
    ----------
    margin : half the width of the band between positives and negatives, in distance.
    beta : the boundary (its start, where it is learned), in distance.
    beta_per : `class` (learned, one per class), `all` (learned, one) or `none` (fixed).
    num_classes : how many classes the labels 0 .. num_classes - 1 name; needed for `beta_per="class"`.
    reduction : `nonzero` (mean over the pairs with a positive loss), `mean` over the pairs or `sum`.
    normalize : L2-normalise the embeddings.
    """

    uses_tuples: ClassVar[bool] = True
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.4), "beta": Uniform(0.8, 1.4)}

    def __init__(
        self,
        margin: float = 0.2,
        beta: float = 1.2,
        beta_per: str = "class",
        num_classes: int | None = None,
        reduction: str = "nonzero",
        normalize: bool = True,
    ):
        super().__init__()
        check_choice("beta_per", beta_per, ("class", "all", "none"))
        check_choice("reduction", reduction, REDUCTIONS)
        if beta_per == "class" and (num_classes is None or num_classes < 1):
            raise ValueError(f"num_classes: beta_per='class' needs the number of classes; got {num_classes!r}")
        self.margin, self.beta_per, self.reduction, self.normalize = margin, beta_per, reduction, normalize
        start = torch.full((num_classes if beta_per == "class" and num_classes else 1,), float(beta))
        if beta_per == "none":
            self.register_buffer("beta", start)
        else:
            self.beta = nn.Parameter(start)
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1, tuples in any form of `_forms` -> scalar."""
        check_batch(embeddings, labels)
        geometry = Geometry(embeddings, self.normalize)
        squared = geometry.squared()
        positives, negatives = pair_weights(labels, tuples, squared.dtype)
        count = positives.sum() + negatives.sum()
        distances, inverse = roots(squared)
        boundary = self._boundary(labels, squared.dtype).detach()
        gap = distances.sub_(boundary)
        near = torch.relu_(self.margin - gap)
        far = torch.relu_(gap.add_(self.margin))
        total = dot(positives, far) + dot(negatives, near)
        pull, push = positives.mul_(far.sign_()), negatives.mul_(near.sign_())
        active = pull.sum() + push.sum()
        over = divisor(self.reduction, count, active)
        self.last = {"active_share": active / count.clamp(min=1), "beta": boundary.mean()}
        gradient = pull.sub_(push)
        terms = []
        if isinstance(self.beta, nn.Parameter):
            by_anchor = -gradient.sum(1) / over
            beta_gradient = torch.zeros_like(self.beta, dtype=gradient.dtype)
            index = labels if self.beta_per == "class" else torch.zeros_like(labels)
            terms = [(self.beta, beta_gradient.index_add_(0, index, by_anchor))]
        return geometry.finish(total / over, *terms, squared=gradient.mul_(inverse), over=2 * over)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's loss and how often it counts, (N^2,) or (2 N^2,) both; differentiable by autograd."""
        squared = squared_distances(prepared(embeddings, self.normalize))
        positives, negatives = pair_weights(labels, tuples, squared.dtype)
        gap = safe_root(squared) - self._boundary(labels, squared.dtype)
        as_positive, as_negative = torch.relu(gap + self.margin), torch.relu(self.margin - gap)
        return by_kind(as_positive, as_negative, positives, negatives, tuples)

    def _boundary(self, labels: Tensor, dtype: torch.dtype) -> Tensor:
        """beta of each anchor, (N, 1)."""
        beta = self.beta[labels] if self.beta_per == "class" else self.beta.expand(len(labels))
        return beta.to(dtype)[:, None]
