"""Pipelines without settings: none, and those of the papers. Each class is a part."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.data.augment._ops import CropFlip, Normalization, ToFloat, check_images, check_size, resize


class None_:
    """No augmentation: convert to floats, normalise, and resize if a size is given.

    The same in training and evaluation.

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


class Crop224(CropFlip):
    """Random 224 x 224 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

    The input of ResNet-50 in Levi et al. (easy positive sampling), sec. 5.2.2.
    """

    version: ClassVar[int] = 1

    image_size: ClassVar[int] = 224


class Crop227(CropFlip):
    """Random 227 x 227 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

    Vasudeva et al.: LoOp, sec. 5 (resize to 256 x 256, random crop of 227, horizontal flip).
    """

    version: ClassVar[int] = 1

    image_size: ClassVar[int] = 227


class Omniglot80:
    """Omniglot's characters at 80 x 80 pixels, in training and evaluation.

    Levi et al. (easy positive sampling), sec. 5.2.2: an input of 80 x 80. The paper mentions no random augmentation;
    a mirrored character would be a different character.

    Resizes images that are not packed at this size. Three channels by default, for networks trained on ImageNet.

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
