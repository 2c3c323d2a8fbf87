"""Random 227 x 227 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

Vasudeva et al.: LoOp, sec. 5 (resize to 256 x 256, random crop of 227, horizontal flip).
"""

from __future__ import annotations

from typing import ClassVar

from dml.data.augment._crop import CropFlip


class Crop227(CropFlip):
    """In training, each image has its own crop and is mirrored with probability 1/2."""

    version: ClassVar[int] = 1

    image_size: ClassVar[int] = 227
