"""Margin loss (Wu, Manmatha, Smola, Kraehenbuehl 2017, Sampling matters, sec. 4.2), a mean over pairs.

    positive [d - beta + margin]_+,   negative [beta - d + margin]_+

beta is learned, one for each class (the anchor's) or one for all, or fixed (Le and Odobez: 1.4). It is always in the
state_dict. A learned beta needs a far larger learning rate than the network, so a trial puts `parameters()` in a group
of their own. The paper's regulariser nu * beta is left out (nu = 0 in its experiments).

Search space: the margin around Wu et al.'s 0.2; beta from below their 1.2 to the 1.4 of Le and Odobez; beta's rate
around the 5e-4 of Revisiting DML (Roth et al. 2020, parameters.py), a factor of 200 up, since trials here have few
steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import REDUCTIONS, Form, check_classes, checked_labels, pair_weights
from dml.losses._geometry import Geometry
from dml.losses._pairs import Cost, Hinge, PairLoss, each_pair, mean_over_pairs
from dml.settings import check_choice
from dml.types import LogUniform, Space, Uniform


class Margin(PairLoss):
    """Positive pairs closer than beta - margin, negative pairs farther than beta + margin.

    Parameters
    ----------
    margin : half the width of the band between positives and negatives, in distance.
    beta : the boundary, or its initial value if learned, in distance.
    beta_per : `class` (learned, one per class), `all` (learned, one) or `none` (fixed).
    num_classes : labels are 0 .. num_classes - 1; required for `beta_per="class"`.
    reduction : `nonzero` (mean over the pairs with a positive loss), `mean` over the pairs or `sum`.
    normalize : L2-normalise the embeddings.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.4), "beta": Uniform(0.8, 1.4)}
    own_rate: ClassVar[Space] = LogUniform(1e-4, 1e-1)

    def __init__(
        self,
        margin: float = 0.2,
        beta: float = 1.2,
        beta_per: str = "class",
        num_classes: int | None = None,
        reduction: str = "nonzero",
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_choice("beta_per", beta_per, ("class", "all", "none"))
        check_choice("reduction", reduction, REDUCTIONS)
        if beta_per == "class" and (num_classes is None or num_classes < 1):
            raise ValueError(f"num_classes: beta_per='class' needs the number of classes; got {num_classes!r}")
        self.margin, self.beta_per, self.reduction = margin, beta_per, reduction
        start = torch.full((num_classes if beta_per == "class" and num_classes else 1,), float(beta))
        if beta_per == "none":
            self.register_buffer("beta", start)
        else:
            self.beta = nn.Parameter(start)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1, tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        compared = self.compare(embeddings, labels, tuples, "euclidean", pair_weights)
        beta = self._beta_of(labels, compared[0])
        value, active = mean_over_pairs(self._costs, *compared, self.reduction, beta)
        self.stats = {"active_share": active, "beta": beta.detach().sum() / max(len(beta), 1)}
        return value

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's loss and how often it counts, (N^2,) or (2 N^2,) both; differentiable by autograd."""
        labels = checked_labels(embeddings, labels)
        geometry = Geometry(embeddings, "euclidean", self.normalize)
        return each_pair(self._costs, geometry, labels, tuples, self._beta_of(labels, geometry))

    def _costs(self, gap: Tensor) -> tuple[Cost, Cost]:
        """A pair's cost as a positive and as a negative, where gap = d - beta."""
        return Hinge(gap + self.margin), Hinge(self.margin - gap)

    def _beta_of(self, labels: Tensor, geometry: Geometry) -> Tensor:
        """beta of each anchor, (N, 1)."""
        if self.beta_per == "class":
            check_classes(labels, len(self.beta))
        index = labels if self.beta_per == "class" else torch.zeros_like(labels)
        return self.beta.index_select(0, index).to(geometry.matrix.dtype)[:, None]
