"""No augmentation: convert to floats, normalise, and resize if a size is given."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.data.augment._ops import Normalization, ToFloat, check_images, check_size, resize


class None_:
    """The same in training and evaluation.

    Parameters
    ----------
    image_size : side of the result in pixels; None: that of the input.
    channels : 1 or 3; None: those of the input.
    normalization : see `dml.data.augment.build`.
    """

    version: ClassVar[int] = 1

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
