"""Pipelines: none, those of the papers, and random resized crops. Each class is a part."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from dml.data.augment._ops import (
    CropFlip,
    Normalization,
    ToFloat,
    check_images,
    check_size,
    random_integers,
    resize,
    uniform,
)


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
    `channels`: 1 or 3; None: those of the input. `normalization`: see `dml.data.augment.build`.
    """

    version: ClassVar[int] = 1
    image_size: ClassVar[int] = 80

    def __init__(self, channels: int | None = 3, normalization: Normalization = "imagenet") -> None:
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', 80, 80)."""
        check_images(images)
        return self._to_float(resize(images, self.image_size))


ATTEMPTS = 10


class RandomResizedCrop:
    """Random resized crops (Szegedy et al. 2015) and horizontal flips; the central square in evaluation.

    Roth et al. 2020, the framework behind the tables of the easy-positive-sampling paper, train on such crops of 224 x
    224. Boxes are drawn as in torchvision's `RandomResizedCrop`. Deviation: if none of ten fits the image, the first is
    clipped to it. Resizing is bilinear with antialiasing; on a CPU, by torchvision, it rounds to whole levels.

    Each image has its own box, resized to a square.

    Parameters
    ----------
    image_size : side of the result in pixels.
    scale : smallest and largest area of the box, as a share of the image.
    ratio : smallest and largest width / height of the box.
    mirror : whether half of the images are mirrored in training; not for text, digits and letters.
    channels : 1 or 3; None: those of the input.
    normalization : see `dml.data.augment.build`.
    """

    version: ClassVar[int] = 1

    def __init__(
        self,
        image_size: int = 224,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        mirror: bool = True,
        channels: int | None = None,
        normalization: Normalization = "imagenet",
    ) -> None:
        check_size(image_size)
        for name, (low, high), most in (("scale", scale, 1.0), ("ratio", ratio, math.inf)):
            if not 0 < low <= high <= most:
                raise ValueError(f"augment: {name}: expected 0 < low <= high <= {most:g}, got {(low, high)}")
        self.image_size, self.mirrors = image_size, mirror
        self._scale, self._ratio = tuple(scale), tuple(ratio)
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', image_size, image_size)."""
        check_images(images)
        if not training:
            return self._to_float(self._central(images))
        boxes = self._boxes(images, generator)
        mirrored = random_integers(images, generator, 2).bool() & self.mirrors
        resized = each_resized_crop if images.device.type == "cpu" else resized_crop
        return self._to_float(resized(images, boxes, mirrored, self.image_size))

    def _central(self, images: Tensor) -> Tensor:
        """The central square, 7/8 of the shorter side (224 of 256), resized."""
        height, width = images.shape[-2:]
        side = min(height, width, max(self.image_size, round(min(height, width) * 7 / 8)))
        top, left = (height - side) // 2, (width - side) // 2
        return resize(images[..., top : top + side, left : left + side], self.image_size)

    def _boxes(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        """float32 (B, 4): top, left, height and width in whole pixels."""
        count, _, height, width = images.shape
        area, aspect, y, x = uniform(images, generator, 4, ATTEMPTS, count).unbind()
        area = height * width * (self._scale[0] + area * (self._scale[1] - self._scale[0]))
        low, high = (math.log(value) for value in self._ratio)
        aspect = torch.exp(low + aspect * (high - low))
        wide, tall = torch.sqrt(area * aspect).round(), torch.sqrt(area / aspect).round()
        fits = ((wide <= width) & (tall <= height)).float()
        first = fits.argmax(0, keepdim=True)  # argmax of all zeros is the first box; it is clipped below
        wide, tall, y, x = (value.gather(0, first)[0] for value in (wide, tall, y, x))
        wide, tall = wide.clamp(1, width), tall.clamp(1, height)
        top = (y * (height - tall + 1)).floor().minimum(height - tall)
        left = (x * (width - wide + 1)).floor().minimum(width - wide)
        return torch.stack([top, left, tall, wide], dim=1)


def resized_crop(images: Tensor, boxes: Tensor, mirrored: Tensor, size: int) -> Tensor:
    """Crop each image to its box, resize it (bilinear with antialiasing), and mirror some."""
    top, left, tall, wide = boxes.unbind(1)
    rows = _weights(top, tall, images.shape[2], size)  # (B, size, H)
    columns = _weights(left, wide, images.shape[3], size)  # (B, size, W)
    columns = torch.where(mirrored.view(-1, 1, 1), columns.flip(1), columns)
    return rows.unsqueeze(1) @ (images.float() @ columns.transpose(1, 2).unsqueeze(1))


def each_resized_crop(images: Tensor, boxes: Tensor, mirrored: Tensor, size: int) -> Tensor:
    """The same, image by image and rounded to whole levels: uint8 (B, C, size, size), `channels_last`."""
    from torchvision.transforms.v2 import functional as F  # takes more than a second

    shape = (*images.shape[:2], size, size)
    result = torch.empty(shape, dtype=images.dtype, memory_format=torch.channels_last)
    for image, box, flip, out in zip(images, boxes.int().tolist(), mirrored.tolist(), result, strict=True):
        resized = F.resized_crop(image, *box, [size, size], antialias=True)
        out.copy_(resized.flip(-1) if flip else resized)
    return result


def _weights(start: Tensor, extent: Tensor, length: int, size: int) -> Tensor:
    """float32 (B, size, length): the weight of each old pixel in each new pixel, along one dimension."""
    pixels = torch.arange(length, device=start.device, dtype=torch.float32)
    scale = (extent / size).view(-1, 1, 1)
    centers = start.view(-1, 1, 1) + (torch.arange(size, device=start.device).view(1, -1, 1) + 0.5) * scale
    distance = (pixels + 0.5 - centers).abs() / scale.clamp(min=1)
    inside = (pixels >= start.view(-1, 1, 1)) & (pixels < (start + extent).view(-1, 1, 1))
    weights = (1 - distance).clamp(min=0) * inside
    return weights / weights.sum(-1, keepdim=True)
