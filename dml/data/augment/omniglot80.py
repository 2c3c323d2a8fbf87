"""Omniglot's characters at 80 x 80 pixels, in training as in evaluation.

Levi et al. (easy positive sampling), sec. 5.2.2: an input of 80 x 80. The paper tells of no random change; a mirrored
character would be another one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.data.augment._ops import Normalization, ToFloat, check_images, resize


class Omniglot80:
    """Resized where they are not packed so, in three channels for networks trained on ImageNet.

    Parameters
    ----------
    channels : 1 or 3; None: as they come.
    normalization : see `dml.data.augment.build`.
    """

    image_size = 80

    def __init__(self, channels: int | None = 3, normalization: Normalization = "imagenet") -> None:
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', 80, 80)."""
        check_images(images)
        return self._to_float(resize(images, self.image_size))
