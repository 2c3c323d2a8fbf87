"""Triplet loss with the hardest positive and the hardest negative, a mean over the positive pairs (i, j) of a batch.

    none:       [max(max_k d_ik, max_l d_jl) + margin - min(min_k d_ik, min_l d_jl)]_+
    synthesis:  [max(max_k d_ik, max_l d_jl) + margin - min_kl d_ijkl]_+

over k and l of the same class under max, of other classes under min; (k, l) is a positive pair.

Vasudeva et al., "LoOp: looking for optimal hard negative embeddings for deep metric learning", ICCV 2021,
section 3.3.2. Pairs and d_ijkl are those of `synthesis.py`. Deviation: the sum is divided by the number of positive
pairs; the paper calls that |P| "the set of classes in the batch". With two samples a class it is `lifted_hinge`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.losses import synthesis as negatives
from dml.losses.lifted_hinge import LiftedHinge


class HphnTriplet(LiftedHinge):
    """Keeps the farthest sample of a pair's class `margin` closer than what is nearest of other classes.

    It chooses its own tuples: what a miner chose is ignored.

    Parameters
    ----------
    margin : added to the distance of the farthest positive.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : how many points embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` needs it.

    Example
    -------
    >>> loss = HphnTriplet(margin=0.2, synthesis="loop")
    >>> value = loss(embeddings, labels)  # scalar
    """

    def _positive(self, x: Tensor, labels: Tensor, near: negatives.Nearest) -> Tensor:
        """The greater of the distances (P,) of a pair's two samples to their farthest samples of the class."""
        if not len(near.pairs.valid):
            return near.positive
        other = labels[:, None] != labels
        value, place = negatives.without(negatives.squared_distances(x), other, sign=-1).max(1)
        first, second = near.pairs.first, near.pairs.second
        end = torch.where(value[first] >= value[second], first, second)
        return negatives.between(x, end, place[end])
