"""The positives of multi-similarity mining: {t in C_a : s(a, t) < max over n of s(a, n) + epsilon}.

s is the inner product (the cosine if the miner normalises). Wang et al., "Multi-similarity loss with general pair
weighting for deep metric learning", CVPR 2019, equation 11. An anchor without negatives gets no positive.
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
    """The positives that are not clearly more similar than the most similar negative.

    Parameters
    ----------
    epsilon : the mining margin, in units of similarity. A negative one keeps fewer pairs (LoOp, section 4.1: -0.02).
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {"epsilon": Uniform(0.0, 0.3)}

    def __init__(self, epsilon: float = 0.1) -> None:
        check_number("epsilon", epsilon)
        self.epsilon = epsilon

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, S), S the size of the largest class minus one."""
        hardest = batch.gram.masked_fill(batch.same, -torch.inf).amax(dim=1, keepdim=True)
        kept = batch.at(batch.gram, batch.mates, torch.inf) < hardest + self.epsilon
        return batch.mates.masked_fill(~kept, -1)
