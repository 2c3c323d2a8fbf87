"""Triplet loss [D_ap - D_an + margin]_+ (Schroff, Kalenichenko, Philbin 2015, FaceNet, eq. 2).

D is the distance d or its square. The paper on easy positive sampling prints D_pn for D_an in its preliminaries; its
proofs use D_an, as here. Without tuples the loss is over all triplets of the batch, in O(N^2 log N) (`_triplets.py`).

With `synthesis`, a tuple is a positive pair (i, j) with a positive pair (k, l) of another class, and all those of the
batch count: [D_ij - D_ijkl + margin]_+ (Vasudeva et al., LoOp, eq. 15). `synthesis.py` defines the pairs and D_ijkl.
Tuples then have no effect. The paper divides the sum by the number of positive pairs. Here `reduction` decides; `mean`
differs from the paper by a constant factor if classes are of equal size.

Search space: margins from a quarter of FaceNet's 0.2, which Revisiting DML (Roth et al. 2020) takes too, to half of
the upper end of the [0, 1] that users of powerful-benchmarker search (Musgrave et al. 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses import synthesis as between_pairs
from dml.losses._forms import (
    DISTANCES,
    REDUCTIONS,
    Form,
    checked_labels,
    divisor,
    is_triples,
    list_triples,
    positions,
    triples,
    unless_finite,
)
from dml.losses._geometry import Geometry
from dml.losses._pairs import PairLoss
from dml.losses._triplets import all_triplets, listed_gaps, listed_triplets
from dml.settings import check_at_least, check_choice
from dml.types import Choice, Space, Uniform


class Triplet(PairLoss):
    """A positive nearer than a negative by a margin.

    Parameters
    ----------
    margin : >= 0, in units of `distance`.
    distance : `euclidean` or `squared`.
    reduction : `nonzero` (mean over the triplets with a positive loss), `mean` over the triplets or `sum`.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : number of points that embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` requires it.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "margin": Uniform(0.05, 0.5),
        "distance": Choice(("euclidean", "squared")),
    }

    def __init__(
        self,
        margin: float = 0.2,
        distance: str = "euclidean",
        reduction: str = "nonzero",
        synthesis: str = "none",
        points: int = 2,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory, "skipped" if synthesis == "none" else "removed")
        check_at_least("margin", margin, 0)
        check_choice("distance", distance, DISTANCES)
        check_choice("reduction", reduction, REDUCTIONS)
        between_pairs.check(synthesis, points, normalize, memory)
        self.margin, self.distance = margin, distance
        self.reduction, self.synthesis, self.points = reduction, synthesis, points
        self.uses_tuples = synthesis == "none"
        self.mining = {"margin": margin, "distance": distance}  # semi-hard mining uses the same

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        if self.synthesis != "none":
            losses, weights = self._synthetic(embeddings, labels)
            total, active = weights.sum(), (losses.detach() * weights > 0).sum()
            self.stats = {"active_share": active / total.clamp(min=1)}
            mean = (losses * weights).sum() / divisor(self.reduction, total, active)
            return mean + unless_finite(embeddings)
        if is_triples(tuples) and self.memory is None:
            geometry = Geometry(embeddings, self.distance, self.normalize)
            distances = geometry.matrix
            value, active, total, gradient = listed_triplets(distances, *triples(labels, tuples), self.margin)
        else:
            geometry, positives, negatives = self.compare(embeddings, labels, tuples, self.distance)
            distances = geometry.matrix
            value, active, gradient = all_triplets(distances, positives, negatives, self.margin)
            total = torch.dot(positives.sum(1).double(), negatives.sum(1).double())
            if is_triples(tuples):  # of the batch alone, as they are listed and in no other combination
                inner, p, n = (matrix[:, : len(labels)].contiguous() for matrix in (distances, positives, negatives))
                listed = listed_triplets(inner, *triples(labels, tuples), self.margin)
                crossed = all_triplets(inner, p, n, self.margin)
                value, active = value + listed[0] - crossed[0], active + listed[1] - crossed[1]
                gradient[:, : len(labels)] += listed[3] - crossed[2]
                total += listed[2] - torch.dot(p.sum(1).double(), n.sum(1).double())
        divided_by = divisor(self.reduction, total, active)
        self.stats = {"active_share": active / total.clamp(min=1)}
        return geometry.finish((value / divided_by).to(distances.dtype), gradient, divisor=divided_by)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each triple's loss and weight (0 for padding), (T,) both; differentiable by autograd.

        With synthesis, a tuple is a pair of pairs. Otherwise, unless the tuples are a list, all triples are listed,
        which takes memory for each and waits for the device.
        """
        labels = checked_labels(embeddings, labels)
        if self.synthesis != "none":
            losses, weights = self._synthetic(embeddings, labels)
            return losses.flatten(), weights.flatten()
        distances = Geometry(embeddings, self.distance, self.normalize).attached()
        a, p, n, valid = list_triples(labels, tuples)
        gaps, _, _ = listed_gaps(distances, a, p, n, self.margin)
        return torch.relu(gaps), valid.to(distances.dtype)

    def _synthetic(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each pair with each other pair, and whether they are of two classes: (P, P) both."""
        with torch.autocast(embeddings.device.type, enabled=False):
            x = positions(embeddings, self.normalize)
            _, positive, negative, mask = between_pairs.hardest(x, labels, self.synthesis, self.points, self.normalize)
        if self.distance == "squared":
            positive, negative = positive.square(), negative.square()
        return torch.relu(positive[:, None] - negative + self.margin), mask.to(x.dtype)
