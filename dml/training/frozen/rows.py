"""Stored features as a trial's input."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor


class FeatureRows:
    """Stands in the place of an augmentation: stored features -> float32, unchanged."""

    version: ClassVar[int] = 1  # of the protocol; a trial's key contains that of the recipe
    image_size: int | None = None

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """float (B, D, 1, 1) -> float32 (B, D)."""
        return images.flatten(1).float()
