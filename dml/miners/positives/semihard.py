"""A random positive that is farther than the anchor's nearest negative, or any positive if none is farther.

p ~ uniform {t in C_a : d(a, t) > min over n of d(a, n)}, or uniform C_a if that set is empty. These are the semi-hard
positives of Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML
2020, the framework used for the tables of the easy-positive paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.miners._choose import one_of
from dml.protocols import Draw
from dml.types import Space


class Semihard:
    """A random positive beyond the nearest negative."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        nearest = batch.far.amin(dim=1, keepdim=True)
        beyond = batch.at(batch.distance, batch.mates, -torch.inf) > nearest
        admissible = torch.where(beyond.any(dim=1, keepdim=True), beyond, batch.mates >= 0)
        return batch.at(batch.mates, one_of(admissible, draw(nearest.shape)), -1)
