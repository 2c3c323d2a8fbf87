"""Lifted structure in the hinge form of the LoOp paper, a mean over the positive pairs (i, j) of a batch.

    none:       [d_ij + margin - min(min_k d_ik, min_l d_jl)]_+       k, l: samples of other classes
    synthesis:  [d_ij + margin - min_kl d_ijkl]_+                     (k, l): positive pairs of other classes

Vasudeva et al., "LoOp: looking for optimal hard negative embeddings for deep metric learning", ICCV 2021,
section 3.3.3. Pairs and d_ijkl are those of `synthesis.py`. Deviation: the sum is divided by the number of positive
pairs; the paper calls that |P| "the set of classes in the batch". Song et al.'s loss, with its smooth
maximum, is `lifted_structure`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses import synthesis as negatives
from dml.losses._forms import Form
from dml.losses._geometry import prepared
from dml.losses._settings import check_at_least, check_batch
from dml.types import Space, Uniform


class LiftedHinge(nn.Module):
    """Keeps each positive pair `margin` closer than what is nearest to it of other classes.

    It chooses its own tuples: what a miner chose is ignored.

    Parameters
    ----------
    margin : added to the distance within the pair.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : how many points embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` needs it.

    Example
    -------
    >>> loss = LiftedHinge(margin=0.2, synthesis="loop")
    >>> value = loss(embeddings, labels)  # scalar
    """

    uses_tuples: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.8)}

    def __init__(self, margin: float = 0.2, synthesis: str = "none", points: int = 2, normalize: bool = True):
        super().__init__()
        check_at_least("margin", margin, 0)
        negatives.check(synthesis, points, normalize)
        self.margin, self.synthesis, self.points, self.normalize = margin, synthesis, points, normalize
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) -> scalar; 0 where no pair has a negative."""
        check_batch(embeddings, labels)
        x = prepared(embeddings, self.normalize)
        near = negatives.nearest(x, labels, self.synthesis, self.points, self.normalize)
        losses = torch.relu(self._positive(x, labels, near) + self.margin - near.distance) * near.exists
        count = near.exists.sum().clamp(min=1)
        self.last = {"active_share": (losses.detach() > 0).sum() / count}
        return losses.sum() / count

    def _positive(self, x: Tensor, labels: Tensor, near: negatives.Nearest) -> Tensor:
        """The distances (P,) that are to be small."""
        return near.positive
