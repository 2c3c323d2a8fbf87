"""Triplet loss [D_ap - D_an + margin]_+ (Schroff, Kalenichenko, Philbin 2015, FaceNet, eq. 2).

D is the distance d or its square. The paper on easy positive sampling prints D_pn for D_an in its preliminaries; its
proofs use D_an, as here. `swap` (Balntas et al. 2016) takes min(D_an, D_pn) for D_an. Without tuples the loss is over
all triplets of the batch, in O(N^2 log N): `_triplets.py` says how.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, divisor, is_triples, list_triples, pair_masks, triples
from dml.losses._geometry import Geometry, prepared, roots, safe_root, squared_distances
from dml.losses._settings import DISTANCES, REDUCTIONS, check_at_least, check_batch, check_choice
from dml.losses._triplets import all_triplets, listed_triplets
from dml.types import Choice, Space, Uniform


class Triplet(nn.Module):
    """A positive nearer than a negative by a margin.

    Parameters
    ----------
    margin : >= 0, in units of `distance`.
    distance : `euclidean` or `squared`.
    swap : take the negative's distance from the anchor or from the positive, whichever is less.
    reduction : `nonzero` (mean over the triplets with a positive loss), `mean` over the triplets or `sum`.
    normalize : L2-normalise the embeddings.
    """

    uses_tuples: ClassVar[bool] = True
    search_space: ClassVar[dict[str, Space]] = {
        "margin": Uniform(0.05, 0.5),
        "distance": Choice(("euclidean", "squared")),
    }

    def __init__(
        self,
        margin: float = 0.2,
        distance: str = "euclidean",
        swap: bool = False,
        reduction: str = "nonzero",
        normalize: bool = True,
    ):
        super().__init__()
        check_at_least("margin", margin, 0)
        check_choice("distance", distance, DISTANCES)
        check_choice("reduction", reduction, REDUCTIONS)
        self.margin, self.distance, self.swap = margin, distance, swap
        self.reduction, self.normalize = reduction, normalize
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        check_batch(embeddings, labels)
        geometry = Geometry(embeddings, self.normalize)
        squared = geometry.squared()
        distances, slope = roots(squared) if self.distance == "euclidean" else (squared, None)
        if is_triples(tuples):
            value, active, total, gradient = listed_triplets(
                distances, *triples(tuples, labels.device), self.margin, self.swap
            )
        else:
            positives, negatives = pair_masks(labels, tuples, distances.dtype)
            value, active, gradient = all_triplets(distances, positives, negatives, self.margin, self.swap)
            total = torch.dot(positives.sum(1).double(), negatives.sum(1).double())
        over = divisor(self.reduction, total, active)
        self.last = {"active_share": active / total.clamp(min=1)}
        gradient.div_(over)
        return geometry.finish(
            (value / over).to(distances.dtype), squared=gradient if slope is None else gradient.mul_(slope)
        )

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each triple's loss and weight (0 for padding), (T,) both; differentiable by autograd.

        Where the tuples are not listed, all triples are, which takes O(N^2 M) memory and waits for the device.
        """
        distances = squared_distances(prepared(embeddings, self.normalize))
        if self.distance == "euclidean":
            distances = safe_root(distances)
        a, p, n, valid = list_triples(labels, tuples)
        negative = distances[a, n]
        if self.swap:
            negative = torch.minimum(negative, distances[p, n])
        return torch.relu(distances[a, p] - negative + self.margin), valid.to(distances.dtype)
