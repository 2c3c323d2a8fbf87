"""Lifted structure in the hinge form of the LoOp paper, a mean over the positive pairs (i, j) of a batch.

    none:       [d_ij + margin - min(min_k d_ik, min_l d_jl)]_+       k, l: samples of other classes
    synthesis:  [d_ij + margin - min_kl d_ijkl]_+                     (k, l): positive pairs of other classes

Vasudeva et al., "LoOp: looking for optimal hard negative embeddings for deep metric learning", ICCV 2021,
section 3.3.3. `synthesis.py` defines the pairs and d_ijkl. Deviation: the sum is divided by the number of positive
pairs; the paper calls its |P| "the set of classes in the batch". Song et al.'s loss with its smooth maximum is
`lifted_structure`.

Search space: margins of the triplet loss and beyond, as the hardest negative is nearer. No published search.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from dml.losses import synthesis as negatives
from dml.losses._forms import Form, checked_labels, positions
from dml.losses._pairs import PairLoss
from dml.losses.synthesis import mean_hinge
from dml.settings import check_at_least
from dml.types import Space, Uniform


class LiftedHinge(PairLoss):
    """Keeps each positive pair `margin` closer than its nearest sample (or synthesised point) of another class.

    It chooses its own tuples; those of a miner are ignored.

    Parameters
    ----------
    margin : added to the distance within the pair; >= 0.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : number of points that embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` requires it.

    Example
    -------
    >>> loss = LiftedHinge(margin=0.2, synthesis="loop")
    >>> value = loss(embeddings, labels)  # scalar
    """

    version: ClassVar[int] = 1
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
        value, active = mean_hinge(x, near.positive, near, self.margin)
        self.stats = {"active_share": active}
        return value
