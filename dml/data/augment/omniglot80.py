"""Omniglot's characters at 80 x 80 pixels, in training and evaluation.

Levi et al. (easy positive sampling), sec. 5.2.2: an input of 80 x 80. The paper mentions no random augmentation; a
mirrored character would be a different character.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.data.augment._ops import Normalization, ToFloat, check_images, resize


class Omniglot80:
    """Resizes images that are not packed at this size. Three channels by default, for networks trained on ImageNet.

    Parameters
    ----------
    channels : 1 or 3; None: those of the input.
    normalization : see `dml.data.augment.build`.
    """

    version: ClassVar[int] = 1
    image_size: ClassVar[int] = 80

    def __init__(self, channels: int | None = 3, normalization: Normalization = "imagenet") -> None:
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', 80, 80)."""
        check_images(images)
        return self._to_float(resize(images, self.image_size))
