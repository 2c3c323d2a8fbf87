"""Multi-similarity loss (Wang et al. 2019, eq. 15; in Vasudeva et al., LoOp, eq. 12).

    1/N sum_i [ 1/alpha log(1 + sum_p exp(-alpha (s_ip - base))) + 1/beta log(1 + sum_n exp(beta (s_in - base))) ]

over the pairs that anchor i keeps. An anchor without pairs adds 0 and is counted in N, as in pytorch-metric-learning.
The miner (`multi_similarity` policies) decides which pairs are kept; without tuples all pairs are.

With `synthesis`, the negatives of anchor i are the positive pairs (k, l) of other classes instead, with the similarity
1 - d_ijkl^2 / 2 to i's own pair (i, j) (LoOp, section 3.3.4; `synthesis.py` defines pairs and d_ijkl). A pair counts
for i if it is at least as similar as the least similar negative that i keeps. The paper's rule, s > min s_ip - epsilon,
is the same up to the gap between that bound and the first negative above it. Without a negative to keep, i gets none.

Search space: a part of powerful-benchmarker's example, alpha and beta log-uniform in [0.01, 100] and base in [0, 1]
(Musgrave et al. 2020), around the paper's 2, 50 and 1, LoOp's base 0.5, and the 0.2 that suits heads which start from
whitening.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses import synthesis as between_pairs
from dml.losses._forms import Form, checked_labels, pair_masks, positions, zero
from dml.losses._geometry import Geometry, attach
from dml.losses._pairs import PairLoss
from dml.settings import check_above
from dml.types import LogUniform, Space, Uniform

HIDDEN = 1e30  # excludes an entry from a maximum or minimum
LEAST = -80.0  # smaller exponents count as -infinity: `exp` of them takes ten times as long and is lost beside 1


class MultiSimilarity(PairLoss):
    """Weighs each pair by its own similarity and by the similarities of its anchor's other pairs.

    Parameters
    ----------
    alpha, beta : sharpness for positive and for negative pairs; > 0.
    base : the similarity (lambda) that separates easy from hard.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : number of points that embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` requires it.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "alpha": LogUniform(0.5, 20),
        "beta": LogUniform(5, 100),
        "base": Uniform(0.2, 1.0),
    }

    def __init__(
        self,
        alpha: float = 2.0,
        beta: float = 50.0,
        base: float = 0.5,
        synthesis: str = "none",
        points: int = 2,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory, "counted" if synthesis == "none" else "removed")
        check_above("alpha", alpha, 0)
        check_above("beta", beta, 0)
        between_pairs.check(synthesis, points, normalize, memory)
        self.alpha, self.beta, self.base = alpha, beta, base
        self.synthesis, self.points = synthesis, points

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        if not len(labels):
            return zero(embeddings)
        if self.synthesis != "none":
            return self._synthetic(embeddings, labels, tuples)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        similarities = geometry.matrix
        self.stats = {"anchor_share": (positives.sum(1) + negatives.sum(1)).sign().mean()}
        pull, pull_gradient = soft_count(similarities, positives, -self.alpha, self.base)
        push, push_gradient = soft_count(similarities, negatives, self.beta, self.base)
        size = len(labels)
        value = (pull / self.alpha + push / self.beta).sum() / size
        return geometry.finish(value, push_gradient.sub_(pull_gradient), over=size)

    def _synthetic(self, embeddings: Tensor, labels: Tensor, tuples: Form) -> Tensor:
        geometry = Geometry(embeddings, "similarity", self.normalize)
        x = positions(embeddings, self.normalize)
        found = between_pairs.hardest(x, labels, self.synthesis, self.points, self.normalize)
        n, (pairs, _, distances, allowed) = len(x), found
        if not len(pairs.valid):
            return zero(embeddings)
        similarities = geometry.matrix
        positives, negatives = pair_masks(labels, tuples, similarities.dtype)
        kept = positives.sum(1)
        slack = 4 * torch.finfo(x.dtype).eps  # the hardest of a set is as similar as its ends, up to rounding
        least = negatives.sub_(1).mul_(-HIDDEN).add_(similarities).amin(1, keepdim=True) - slack
        pull, pull_gradient = soft_count(similarities, positives, -self.alpha, self.base)
        synthetic = 1 - distances.detach().square() / 2
        push, push_gradient = torch.zeros_like(pull[:1]), torch.zeros_like(synthetic)
        for end in (pairs.first, pairs.second):  # each sample is an end of at most one pair
            mask = (allowed & (synthetic >= least[end])).to(x.dtype)
            kept = kept.index_add(0, end, mask.sum(1))
            value, gradient = soft_count(synthetic, mask, self.beta, self.base)
            push, push_gradient = push + value.sum(), push_gradient.add_(gradient)
        self.stats = {"anchor_share": kept.sign().mean()}
        pulled = geometry.finish(pull.sum() / self.alpha / n, pull_gradient.neg_(), over=n)
        return pulled + attach(push[0] / self.beta / n, (distances, push_gradient.mul_(distances.detach()).div_(-n)))


def soft_count(similarities: Tensor, mask: Tensor, sharpness: float, base: float) -> tuple[Tensor, Tensor]:
    """log(1 + sum_j mask_ij exp(sharpness (s_ij - base))) for each row (N,), and each term's share in it (N, N).

    `mask` (0 and 1) is overwritten.
    """
    exponents = mask.sub_(1).mul_(HIDDEN).add_(similarities, alpha=sharpness).sub_(sharpness * base)
    top = exponents.amax(1, keepdim=True).clamp_(min=0)
    terms = torch.threshold_(exponents.sub_(top).clamp_(min=LEAST).exp_(), 2 * math.exp(LEAST), 0.0)
    total = terms.sum(1, keepdim=True).add_(torch.exp(-top))
    return (total.log() + top)[:, 0], terms.div_(total)
