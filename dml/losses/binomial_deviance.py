"""Binomial deviance (Yi, Lei, Liao, Li 2014), as compared with in Ustinova and Lempitsky's histogram loss, sec. 4.

    mean over positive pairs of log(1 + exp(-alpha (s - beta)))
  + mean over negative pairs of log(1 + exp(alpha C (s - beta)))

If a batch has no positive (negative) pairs, only the other mean remains.

Search space: around Ustinova and Lempitsky's alpha 2, beta 0.5 and C 25, down to C = 1, equal costs. No published
search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels, pair_weights
from dml.losses._geometry import dot
from dml.losses._pairs import PairLoss
from dml.settings import check_above
from dml.types import LogUniform, Space, Uniform


class BinomialDeviance(PairLoss):
    """A logistic loss on the similarity of each pair, positives and negatives averaged separately.

    Parameters
    ----------
    alpha : steepness; > 0.
    beta : the similarity that separates positive from negative pairs.
    negative_cost : C, how many times steeper the loss is for negatives; > 0.
    normalize : L2-normalise the embeddings.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "alpha": LogUniform(0.5, 10),
        "beta": Uniform(0.0, 0.9),
        "negative_cost": LogUniform(1, 50),
    }

    def __init__(
        self,
        alpha: float = 2.0,
        beta: float = 0.5,
        negative_cost: float = 25.0,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_above("alpha", alpha, 0)
        check_above("negative_cost", negative_cost, 0)
        self.alpha, self.beta, self.negative_cost = alpha, beta, negative_cost

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples, form=pair_weights)
        above = geometry.matrix.sub_(self.beta)
        positives.div_(positives.sum().clamp(min=1))
        negatives.div_(negatives.sum().clamp(min=1))
        slope_positive, slope_negative = -self.alpha, self.alpha * self.negative_cost
        value, gradient = _deviance(above * slope_positive, positives)
        more, push = _deviance(above.mul_(slope_negative), negatives)
        return geometry.finish(value + more, gradient.mul_(slope_positive).add_(push, alpha=slope_negative))


def _deviance(exponents: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """sum of weights * log(1 + exp(exponents)), and its derivative with respect to the exponents."""
    # softplus(z) = [z]_+ + log1p(exp(-|z|)): exact for any z, where torch's own is linear above a threshold.
    soft = exponents.abs().neg_().exp_().log1p_().add_(torch.relu(exponents))
    return dot(soft, weights), torch.sigmoid(exponents).mul_(weights)
