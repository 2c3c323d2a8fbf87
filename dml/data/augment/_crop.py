"""The crops of the papers: a random crop and a random flip in training, the central crop in evaluation."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.data.augment._ops import Normalization, ToFloat, center_crop, check_images, random_crop_flip


class CropFlip:
    """A square crop of `image_size` pixels.

    Parameters
    ----------
    channels : 1 or 3; None: those of the input.
    normalization : see `dml.data.augment.build`.

    Raises
    ------
    ValueError : when called, if the images are smaller than the crop.
    """

    image_size: ClassVar[int]
    mirrors: ClassVar[bool] = True

    def __init__(self, channels: int | None = None, normalization: Normalization = "imagenet") -> None:
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', image_size, image_size)."""
        check_images(images)
        if not training:
            return self._to_float(center_crop(images, self.image_size))
        return self._to_float(random_crop_flip(images, self.image_size, generator))
