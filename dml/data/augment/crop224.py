"""Random 224 x 224 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

The input of ResNet-50 in Levi et al. (easy positive sampling), sec. 5.2.2.
"""

from __future__ import annotations

from typing import ClassVar

from dml.data.augment._crop import CropFlip


class Crop224(CropFlip):
    """In training, each image has its own crop and is mirrored with probability 1/2."""

    version: ClassVar[int] = 1

    image_size: ClassVar[int] = 224
