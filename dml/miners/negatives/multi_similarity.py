"""The negatives of multi-similarity mining: {n : s(a, n) > min over p of s(a, p) - epsilon}.

s is the inner product (the cosine if the miner normalises), and p is one of the positives chosen for the anchor. With
`multi_similarity` or `all` positives this is Wang et al., CVPR 2019, equation 10: their positives always include the
least similar one if they include any. With one positive for each anchor it is the same rule given that positive, as in
easy positive sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.settings import check_number
from dml.types import Space, Uniform


class MultiSimilarity:
    """The negatives that are not clearly less similar than the least similar chosen positive.

    Parameters
    ----------
    epsilon : the mining margin, in units of similarity. A negative one keeps fewer pairs (LoOp, section 4.1: -0.02).
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {"epsilon": Uniform(0.0, 0.3)}

    def __init__(self, epsilon: float = 0.1) -> None:
        check_number("epsilon", epsilon)
        self.epsilon = epsilon

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> bool (N, N)."""
        hardest = batch.at(batch.gram, positives, torch.inf).amin(dim=1, keepdim=True)
        return (batch.gram > hardest - self.epsilon) & ~batch.same
