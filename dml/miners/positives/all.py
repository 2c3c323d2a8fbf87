"""Every other sample of the anchor's class.

With a policy that chooses one negative this is the 1-1 scheme of Le and Odobez, "Theoretical guarantees of deep
embedding losses under label noise", section 4.1: one triple for each ordered positive pair. With `semihard_fixed` or
`semihard_random` it is the semi-hard mining of FaceNet (Schroff, Kalenichenko and Philbin, CVPR 2015, section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from dml.miners._batch import MinerBatch
from dml.protocols import Draw
from dml.types import Space


class All:
    """All positives of the anchor."""

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {}

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, S), S the size of the largest class minus one."""
        return batch.mates
