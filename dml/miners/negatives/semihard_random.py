"""Random semi-hard: a random negative with a positive triplet loss, d(a, p) - d(a, n) + margin > 0.

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", equation 28. A positive without such
a negative gets none.

`window=True` is the rule of Roth et al., "Revisiting training strategies and generalization performance in deep metric
learning", ICML 2020: a random negative with d(a, p) < d(a, n) < d(a, p) + margin, or any negative if there is none. The
margin is compared with the miner's distance, which may be squared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.miners._choose import one_between
from dml.miners.negatives.random import Random
from dml.protocols import Draw
from dml.settings import check_above
from dml.types import Choice, Space, Uniform


class SemihardRandom:
    """A random negative that violates the margin.

    Parameters
    ----------
    margin : in units of the miner's distance, above 0.
    window : only negatives beyond the positive, or any negative if there is none.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {"margin": Uniform(0.05, 0.5), "window": Choice((False, True))}

    def __init__(self, margin: float = 0.2, window: bool = False) -> None:
        check_above("margin", margin, 0)
        self.margin, self.window = margin, window

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        reach = batch.at(batch.distance, positives, -torch.inf)
        low = reach if self.window else None
        chosen = one_between(batch.far, low, reach + self.margin, draw(positives.shape))
        if not self.window:
            return chosen
        return torch.where(chosen < 0, Random()(batch, positives, draw), chosen)
