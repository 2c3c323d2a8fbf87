"""No filter: every sample takes part."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.filters.memories import checked_batch


class None_(nn.Module):
    """Keeps every sample."""

    version: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__()
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,), all True."""
        kept = torch.ones_like(checked_batch(embeddings, labels), dtype=torch.bool)
        self.stats = {"kept_share": kept.float().mean()}
        return kept
