"""Contrastive loss, a mean over pairs.

    hadsell:  positive 1/2 d^2,  negative 1/2 [margin - d]_+^2      (Hadsell, Chopra, LeCun 2006, eq. 4)
    squared:  positive d^2,      negative [margin - d^2]_+          (Levi et al., Preventing class-collapsing, sec. 3)

The default of pytorch-metric-learning is another loss: d and [margin - d]_+, each averaged over its non-zero pairs.

Search space: users of powerful-benchmarker (Musgrave et al. 2020) search margins in [0, 1]; here up to the distance
sqrt(2) of orthogonal embeddings, and not near 0, where all pairs cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from dml.losses._forms import REDUCTIONS, Form, checked_labels, pair_weights
from dml.losses._geometry import Geometry
from dml.losses._pairs import Cost, HalfSquare, Hinge, Linear, PairLoss, each_pair, mean_over_pairs
from dml.settings import check_choice
from dml.types import Choice, Space, Uniform


class Contrastive(PairLoss):
    """Pulls positive pairs together and pushes negative pairs to at least `margin`.

    Parameters
    ----------
    margin : the distance (`hadsell`) or squared distance (`squared`) from which a negative pair costs nothing.
    form : `hadsell` or `squared`.
    reduction : `mean` over the pairs, `nonzero` (over the pairs with a positive loss) or `sum`.
    normalize : L2-normalise the embeddings.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.

    Example
    -------
    >>> loss = Contrastive(margin=0.5, form="squared")
    >>> value = loss(embeddings, labels)  # scalar
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "margin": Uniform(0.3, 1.4),
        "form": Choice(("hadsell", "squared")),
    }

    def __init__(
        self,
        margin: float = 1.0,
        form: str = "hadsell",
        reduction: str = "mean",
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_choice("form", form, ("hadsell", "squared"))
        check_choice("reduction", reduction, REDUCTIONS)
        self.margin, self.form, self.reduction = margin, form, reduction
        self._measure = "euclidean" if form == "hadsell" else "squared"

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        compared = self.compare(embeddings, labels, tuples, self._measure, pair_weights)
        value, active = mean_over_pairs(self._costs, *compared, self.reduction)
        self.stats = {"active_share": active}
        return value

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's loss and how often it counts, (N^2,) or (2 N^2,) both; differentiable by autograd."""
        labels = checked_labels(embeddings, labels)
        return each_pair(self._costs, Geometry(embeddings, self._measure, self.normalize), labels, tuples)

    def _costs(self, d: Tensor) -> tuple[Cost, Cost]:
        """A pair's cost as a positive and as a negative; d is squared for the form `squared`."""
        if self.form == "hadsell":
            return HalfSquare(d), HalfSquare(self.margin - d)
        return Linear(d), Hinge(self.margin - d)
