"""Building blocks of the pipelines. Each image of a batch has its own random crop, from the generator that is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import ClassVar

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
    return _torchvision().resize(images, [size, size], antialias=True)


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
    places = zip(images, top.tolist(), left.tolist(), mirrored.tolist(), strict=True)
    views = [(image.narrow(1, y, size).narrow(2, x, size), mirror) for image, y, x, mirror in places]
    return [view.flip(2) if mirror else view for view, mirror in views]


def center_crop(images: Tensor, size: int) -> Tensor:
    """The central `size` x `size` of each image."""
    check_crop(images, size)
    return _torchvision().center_crop(images, [size, size])


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


class CropFlip:
    """A square crop of `image_size` pixels. Raises ValueError."""

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
