"""The negatives of multi-similarity mining: {n : s(a, n) > min over p of s(a, p) - epsilon}.

s is the inner product (the cosine, when the miner normalises); p runs over the positives chosen for the anchor. With
`multi_similarity` (or `all`) positives this is Wang et al. (CVPR 2019, equation 10), since the least similar positive
is kept whenever any is; with one positive an anchor it is their rule given that positive, as in easy positive sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw
from dml.types import Space, Uniform


class MultiSimilarity:
    """The negatives not clearly less similar than the least similar chosen positive.

    Parameters
    ----------
    epsilon : the mining margin, in units of similarity, not below 0.
    """

    search_space: ClassVar[Mapping[str, Space]] = {"epsilon": Uniform(0.0, 0.3)}

    def __init__(self, epsilon: float = 0.1) -> None:
        if not epsilon >= 0:
            raise ValueError(f"epsilon: expected a number not below 0, got {epsilon!r}")
        self.epsilon = epsilon

    def __call__(self, batch: Batch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> bool (N, N)."""
        hardest = batch.at(batch.gram, positives, torch.inf).amin(dim=1, keepdim=True)
        return (batch.gram > hardest - self.epsilon) & ~batch.same
