"""Fixed semi-hard: the nearest negative beyond the positive, n = argmin {d(a, n) : d(a, n) > d(a, p)}.

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", equation 29. A positive beyond all
negatives gets none. The choice is the same for `euclidean` and `squared` distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.miners._choose import nearest_above
from dml.protocols import Draw
from dml.types import Space


class SemihardFixed:
    """The nearest negative that is farther than the positive."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S)."""
        return nearest_above(batch.far, batch.at(batch.distance, positives, torch.inf))
