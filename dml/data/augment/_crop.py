"""The crops of the papers: a random crop and a random flip to train, the central crop to evaluate."""

from __future__ import annotations

import torch
from torch import Tensor

from dml.data.augment._ops import Normalization, ToFloat, center_crop, check_images, random_crop_flip


class CropFlip:
    """A square crop of `size` pixels."""

    def __init__(self, size: int, channels: int | None, normalization: Normalization) -> None:
        self.size = size
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None) -> Tensor:
        check_images(images)
        if not training:
            return self._to_float(center_crop(images, self.size))
        return self._to_float(random_crop_flip(images, self.size, generator))
