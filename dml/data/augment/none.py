"""No augmentation: to floats, normalised, and resized where a size is asked for that the images do not have."""

from __future__ import annotations

import torch
from torch import Tensor

from dml.data.augment._ops import Normalization, ToFloat, check_images, check_size, resize


class None_:
    """Training and evaluation are the same.

    Parameters
    ----------
    image_size : side of the result in pixels; None: as the images come.
    channels : 1 or 3; None: as they come.
    normalization : see `dml.data.augment.build`.
    """

    def __init__(
        self, image_size: int | None = None, channels: int | None = None, normalization: Normalization = "none"
    ) -> None:
        check_size(image_size)
        self.image_size = image_size
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', h, w)."""
        check_images(images)
        return self._to_float(resize(images, self.image_size))
