"""Random 224 x 224 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

The input of ResNet-50 in Levi et al. (easy positive sampling), sec. 5.2.2.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.data.augment._crop import CropFlip
from dml.data.augment._ops import Normalization


class Crop224:
    """To train, each image has its own crop and is mirrored with probability 1/2.

    Parameters
    ----------
    channels : 1 or 3; None: as they come.
    normalization : see `dml.data.augment.build`.

    Raises
    ------
    ValueError : when called, on images smaller than the crop.
    """

    image_size = 224

    def __init__(self, channels: int | None = None, normalization: Normalization = "imagenet") -> None:
        self._crop = CropFlip(self.image_size, channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', 224, 224)."""
        return self._crop(images, training, generator)
