"""Pipelines: none, those of the papers, and random resized crops, of whole batches. Each class is a part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

STATISTICS = {"imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), "none": ((0.0,), (1.0,))}
CACHE = 2**20  # bytes
Normalization = str | Mapping[str, Sequence[float]]


class ToFloat:
    """uint8 or float (B, C, H, W) -> float32 (B, C', H, W): `channels` channels, `(x / 255 - mean) / std`."""

    def __init__(self, channels: int | None, normalization: Normalization) -> None:
        if channels not in (None, 1, 3):
            raise ValueError(f"augment: channels: expected 1, 3 or None (those of the input), got {channels!r}")
        self._channels = channels
        self._mean, self._std = (tuple(map(float, values)) for values in _statistics(normalization))

    def __call__(self, images: Tensor | Sequence[Tensor]) -> Tensor:
        """A batch, or a sequence of images (C, H, W), which may be views of larger images."""
        if isinstance(images, Tensor) and torch.compiler.is_exporting():
            # The same numbers within rounding, in operations that do not depend on the size of the batch.
            images = self._channelled(images)
            center, scales = (torch.tensor(_averaged(v, images.shape[-3])) for v in (self._mean, self._std))
            return (images.float() / 255 - center.view(-1, 1, 1)) / scales.view(-1, 1, 1)
        parts = images.split(_chunk(images)) if isinstance(images, Tensor) else images
        parts = [self._channelled(part) for part in parts]
        first = parts[0]
        channels, height, width = first.shape[-3:]
        mean, std = (_averaged(values, channels) for values in (self._mean, self._std))
        scale, shift = [1 / (255 * s) for s in std], [-m / s for m, s in zip(mean, std, strict=True)]
        interleaved = channels > 1 and first.stride(-3) <= 1 and first.stride(-1) != 1
        layout = torch.channels_last if interleaved else torch.contiguous_format
        result = torch.empty((len(images), channels, height, width), device=first.device, memory_format=layout)
        outs = _like(result, parts)
        if interleaved and result.device.type == "cpu":
            # Rows of all channels give one long inner loop instead of a loop over three channels.
            every_row = _like(result.permute(0, 2, 3, 1).view(len(images), height, -1), parts)
            by_column, offset = torch.tensor(scale).repeat(width), torch.tensor(shift).repeat(width)
            for part, out, rows in zip(parts, outs, every_row, strict=True):
                out.copy_(part)
                torch.addcmul(offset, rows, by_column, out=rows)
            return result
        for part, out in zip(parts, outs, strict=True):
            out.copy_(part)
            for channel in range(channels):  # plain numbers need no copy to a GPU at every call
                out.select(-3, channel).mul_(scale[channel]).add_(shift[channel])
        return result

    def _channelled(self, images: Tensor) -> Tensor:
        channels = images.shape[-3]
        if self._channels == 3 and channels == 1:
            return images.expand(*images.shape[:-3], 3, -1, -1)
        if self._channels == 1 and channels == 3:
            return _torchvision().rgb_to_grayscale(images)
        return images


def _like(whole: Tensor, parts: Sequence[Tensor]) -> Sequence[Tensor]:
    """Views of (B, ...), one for each part: an image, or several images."""
    return whole.unbind() if parts[0].ndim == 3 else whole.split([len(part) for part in parts])


def _chunk(images: Tensor) -> int:
    """How many images to convert at once: all on a GPU; on a CPU as many as fit into the cache as floats."""
    if images.device.type != "cpu":
        return len(images)
    return max(1, CACHE // (4 * images[0].numel()))


def _averaged(values: Sequence[float], channels: int) -> Sequence[float]:
    return values if len(values) == channels else [sum(values) / len(values)] * channels


def _statistics(normalization: Normalization) -> tuple[Sequence[float], Sequence[float]]:
    if isinstance(normalization, str) and normalization in STATISTICS:
        return STATISTICS[normalization]
    if isinstance(normalization, Mapping) and set(normalization) == {"mean", "std"}:
        mean, std = normalization["mean"], normalization["std"]
        if len(mean) == len(std) and len(mean) in (1, 3) and all(s > 0 for s in std):
            return mean, std
    raise ValueError(
        f"augment: normalization: expected {', '.join(STATISTICS)}, or mean and std of 1 or 3 numbers (std above 0), "
        f"got {normalization!r}"
    )


def check_images(images: Tensor) -> None:
    """Raise a ValueError unless these are uint8 (B, C, H, W) with one or three channels."""
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] not in (1, 3):
        raise ValueError(f"augment: expected uint8 (B, 1 or 3, H, W), got {images.dtype} {tuple(images.shape)}")


def check_size(size: int | None) -> None:
    """Raise a ValueError unless this is None or at least 1."""
    if size is not None and size < 1:
        raise ValueError(f"augment: image_size: expected at least 1 pixel, got {size!r}")


def resize(images: Tensor, size: int | None) -> Tensor:
    """Resize to `size` x `size`, bilinear with antialiasing; None keeps the size."""
    if size is None or tuple(images.shape[-2:]) == (size, size):
        return images
    if not torch.compiler.is_exporting():
        return _torchvision().resize(images, [size, size], antialias=True)
    for axis in (-1, -2):  # as torch does on a CPU, in whole levels; ONNX's own operator is a level off in places
        mixed = images.transpose(-1, axis).double() @ _shares(images.shape[axis], size)
        images = (mixed + 0.5).floor().transpose(-1, axis)
    return images.to(torch.uint8)


def _shares(old: int, new: int) -> Tensor:
    """float64 (old, new): each old pixel's share in the new ones, rounded as torch rounds for uint8."""
    shares = (1 - abs(np.arange(old)[:, None] + 0.5 - (np.arange(new) + 0.5) * old / new) / max(old / new, 1)).clip(0)
    shares /= shares.sum(0)
    step = 2.0 ** next(b for b in range(23) if b == 22 or int(0.5 + shares.max() * 2 ** (b + 1)) >= 2**15)
    return torch.from_numpy(np.floor(shares * step + 0.5) / step)


def random_crop_flip(images: Tensor, size: int, generator: torch.Generator | None) -> Tensor | list[Tensor]:
    """A random crop per image, mirrored with probability 1/2: (B, C, H, W) -> (B, C, size, size)."""
    check_crop(images, size)
    height, width = images.shape[-2:]
    top = random_integers(images, generator, height - size + 1)
    left = random_integers(images, generator, width - size + 1)
    mirrored = random_integers(images, generator, 2).bool()
    if images.device.type != "cpu":
        windows = images.unfold(2, size, 1).unfold(3, size, 1)  # a view: (B, C, tops, lefts, size, size)
        crops = windows[torch.arange(len(images), device=images.device), :, top, left]
        return torch.where(mirrored.view(-1, 1, 1, 1), crops.flip(-1), crops)
    corners = zip(images, top.tolist(), left.tolist(), mirrored.tolist(), strict=True)
    views = [(image.narrow(1, y, size).narrow(2, x, size), mirror) for image, y, x, mirror in corners]
    return [view.flip(2) if mirror else view for view, mirror in views]


def _torchvision() -> ModuleType:
    """Importing it takes more than a second, which reading a study can do without."""
    from torchvision.transforms.v2 import functional

    return functional


def check_crop(images: Tensor, size: int) -> None:
    """Raise a ValueError unless a crop of this size fits."""
    height, width = images.shape[-2:]
    if min(height, width) < size:
        raise ValueError(
            f"augment: a crop of {size} x {size} needs images of at least that size, got {height} x {width}; "
            f"pack them with `resize: {max(256, size)}`"
        )


def uniform(images: Tensor, generator: torch.Generator | None, *shape: int) -> Tensor:
    """float32 numbers from 0 to 1, drawn on the generator's device and moved to that of the images."""
    device = images.device if generator is None else generator.device
    return torch.rand(*shape, generator=generator, device=device).to(images.device, non_blocking=True)


def random_integers(images: Tensor, generator: torch.Generator | None, below: int) -> Tensor:
    """int64 (B,): a random number from 0 to below - 1 for each image."""
    return (uniform(images, generator, len(images)) * below).long().clamp_(max=below - 1)


class None_:
    """No augmentation: convert to floats, normalise, and resize to `image_size` pixels if given, also in training.

    `channels`: 1 or 3, None: those of the input. `normalization`: see `dml.data.augment.build`.
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


class Crop224:
    """Random 224 x 224 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

    The input of ResNet-50 in Levi et al. (easy positive sampling), sec. 5.2.2.
    """

    version: ClassVar[int] = 1
    image_size: ClassVar[int] = 224
    mirrors: ClassVar[bool] = True

    def __init__(self, channels: int | None = None, normalization: Normalization = "imagenet") -> None:
        self._to_float = ToFloat(channels, normalization)

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', image_size, image_size)."""
        check_images(images)
        if training:
            return self._to_float(random_crop_flip(images, self.image_size, generator))
        check_crop(images, self.image_size)
        return self._to_float(_torchvision().center_crop(images, [self.image_size] * 2))


class Crop227(Crop224):
    """Random 227 x 227 crops and horizontal flips of images packed at 256 x 256; the central crop in evaluation.

    Vasudeva et al.: LoOp, sec. 5 (resize to 256 x 256, random crop of 227, horizontal flip).
    """

    version: ClassVar[int] = 1
    image_size: ClassVar[int] = 227


class Omniglot80(None_):
    """Omniglot's characters at 80 x 80 pixels, in training and evaluation (Levi et al., sec. 5.2.2).

    The paper mentions no random augmentation; a mirrored character would be a different one. `channels`: 1 or 3, None:
    those of the input; 3 by default, for networks trained on ImageNet. `normalization`: see `dml.data.augment.build`.
    """

    version: ClassVar[int] = 1

    def __init__(self, channels: int | None = 3, normalization: Normalization = "imagenet") -> None:
        super().__init__(80, channels, normalization)


ATTEMPTS = 10


class RandomResizedCrop:
    """Random resized crops (Szegedy et al. 2015) and horizontal flips; the central square in evaluation.

    Roth et al. 2020, the framework behind the tables of the easy-positive-sampling paper, train on such crops of 224 x
    224. Boxes are drawn as in torchvision's `RandomResizedCrop`. Deviation: if none of ten fits the image, the first is
    clipped to it. Resizing is bilinear with antialiasing; on a CPU, by torchvision, it rounds to whole levels.

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
    shape = (*images.shape[:2], size, size)
    result = torch.empty(shape, dtype=images.dtype, memory_format=torch.channels_last)
    for image, box, flip, out in zip(images, boxes.int().tolist(), mirrored.tolist(), result, strict=True):
        resized = _torchvision().resized_crop(image, *box, [size, size], antialias=True)
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
