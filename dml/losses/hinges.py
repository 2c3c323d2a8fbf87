"""Hinges of LoOp with the nearest negative of a positive pair. Each class is a part."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from dml.losses import synthesis as negatives
from dml.losses._forms import Form, checked_labels, positions
from dml.losses._geometry import squared_distances
from dml.losses._pairs import PairLoss
from dml.losses.synthesis import mean_hinge
from dml.settings import check_at_least
from dml.types import Space, Uniform


class Hinge(PairLoss):
    """[d + margin - the distance to the nearest negative]_+, a mean over the positive pairs (i, j) of a batch.

    It chooses its own tuples; those of a miner are ignored. Deviation from Vasudeva et al., "LoOp: looking for optimal
    hard negative embeddings for deep metric learning", ICCV 2021: the sum is divided by the number of positive pairs;
    the paper calls its |P| "the set of classes in the batch". `synthesis.py` defines the pairs and d_ijkl.

    Parameters
    ----------
    margin : added to the distance of the positive; >= 0.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : number of points that embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` requires it.
    """

    uses_tuples: bool = False
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.8)}

    def __init__(self, margin: float = 0.2, synthesis: str = "none", points: int = 2, normalize: bool = True):
        super().__init__(normalize, left_out="removed")
        check_at_least("margin", margin, 0)
        negatives.check(synthesis, points, normalize)
        self.margin, self.synthesis, self.points = margin, synthesis, points

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) -> scalar; 0 if no pair has a negative."""
        labels = checked_labels(embeddings, labels)
        x = positions(embeddings, self.normalize)
        near = negatives.nearest(x, labels, self.synthesis, self.points, self.normalize)
        value, active = mean_hinge(x, self.positive(x, labels, near), near, self.margin)
        self.stats = {"active_share": active}
        return value

    @abstractmethod
    def positive(self, x: Tensor, labels: Tensor, near: negatives.NearestPairs) -> Tensor:
        """The distance (P,) of each pair's positive; x (N, D) as `positions` gives it, labels int64 (N,)."""


class LiftedHinge(Hinge):
    """Lifted structure in the hinge form of the LoOp paper (section 3.3.3).

        none:       [d_ij + margin - min(min_k d_ik, min_l d_jl)]_+       k, l: samples of other classes
        synthesis:  [d_ij + margin - min_kl d_ijkl]_+                     (k, l): positive pairs of other classes

    Song et al.'s loss with its smooth maximum is `lifted_structure`. Parameters: see `Hinge`.

    Search space: margins of the triplet loss and beyond, as the hardest negative is nearer. No published search.
    """

    version: ClassVar[int] = 1

    def positive(self, x: Tensor, labels: Tensor, near: negatives.NearestPairs) -> Tensor:
        """d_ij."""
        return near.positive


class HphnTriplet(Hinge):
    """Triplet loss with the hardest positive and the hardest negative of the LoOp paper (section 3.3.2).

        none:       [max(max_k d_ik, max_l d_jl) + margin - min(min_k d_ik, min_l d_jl)]_+
        synthesis:  [max(max_k d_ik, max_l d_jl) + margin - min_kl d_ijkl]_+

    Under max, k and l are of the pair's class; under min, of other classes, and (k, l) is a positive pair. With two
    samples a class it equals `lifted_hinge`. Parameters: see `Hinge`.

    Search space: as of `lifted_hinge`.
    """

    version: ClassVar[int] = 1

    def positive(self, x: Tensor, labels: Tensor, near: negatives.NearestPairs) -> Tensor:
        """The larger of the distances of a pair's two samples to their farthest samples of the class."""
        if not len(near.pairs.valid):
            return near.positive
        other = labels[:, None] != labels
        value, place = negatives.without(squared_distances(x, self.normalize), other, sign=-1).max(1)
        first, second = near.pairs.first, near.pairs.second
        end = torch.where(value[first] >= value[second], first, second)
        return negatives.between(x, end, place[end])
