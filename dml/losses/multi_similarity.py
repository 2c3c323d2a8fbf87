"""Multi-similarity loss (Wang et al. 2019, eq. 15; in Vasudeva et al., LoOp, eq. 12).

    1/N sum_i [ 1/alpha log(1 + sum_p exp(-alpha (s_ip - base))) + 1/beta log(1 + sum_n exp(beta (s_in - base))) ]

over the pairs that anchor i keeps. An anchor that keeps none adds 0 and is counted in N, as in
pytorch-metric-learning. Which pairs are kept is the miner's matter (`multi_similarity` policies), not this loss's;
without tuples all are.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, pair_masks
from dml.losses._geometry import Geometry
from dml.losses._settings import check_above, check_batch
from dml.types import LogUniform, Space, Uniform


class MultiSimilarity(nn.Module):
    """Weighs each pair by its own similarity and by the similarities of its anchor's other pairs.

    Parameters
    ----------
    alpha, beta : sharpness for positive and for negative pairs; > 0.
    base : the similarity (lambda) that divides easy from hard.
    normalize : L2-normalise the embeddings.
    """

    uses_tuples: ClassVar[bool] = True
    search_space: ClassVar[dict[str, Space]] = {
        "alpha": LogUniform(0.5, 20),
        "beta": LogUniform(5, 100),
        "base": Uniform(0.2, 1.0),
    }

    def __init__(self, alpha: float = 2.0, beta: float = 50.0, base: float = 0.5, normalize: bool = True):
        super().__init__()
        check_above("alpha", alpha, 0)
        check_above("beta", beta, 0)
        self.alpha, self.beta, self.base, self.normalize = alpha, beta, base, normalize
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        check_batch(embeddings, labels)
        geometry = Geometry(embeddings, self.normalize)
        similarities = geometry.similarities()
        positives, negatives = pair_masks(labels, tuples, similarities.dtype)
        kept = positives.any(1) | negatives.any(1)
        self.last = {"anchor_share": kept.to(similarities.dtype).mean()}
        pull, pull_gradient = soft_count(similarities, positives, -self.alpha, self.base)
        push, push_gradient = soft_count(similarities, negatives, self.beta, self.base)
        size = max(len(labels), 1)
        value = (pull / self.alpha + push / self.beta).sum() / size
        return geometry.finish(value, similarity=push_gradient.sub_(pull_gradient).div_(size))


def soft_count(similarities: Tensor, mask: Tensor, sharpness: float, base: float) -> tuple[Tensor, Tensor]:
    """log(1 + sum_j mask_ij exp(sharpness (s_ij - base))) for each row (N,), and each term's share in it (N, N).

    `mask` (0 and 1) is overwritten.
    """
    exponents = mask.sub_(1).mul_(1e30).add_(similarities, alpha=sharpness).sub_(sharpness * base)
    top = exponents.amax(1, keepdim=True).clamp_(min=0)
    terms = exponents.sub_(top).exp_()
    total = terms.sum(1, keepdim=True).add_(torch.exp(-top))
    return (total.log() + top)[:, 0], terms.div_(total)
