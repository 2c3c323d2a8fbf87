"""What the pipelines are made of: crops, flips and resizes of whole batches, and the way to floats.

Each image of a batch has its own random crop, without a loop over the images and without torchvision's global random
state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as F

STATISTICS = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "none": ((0.0,), (1.0,)),
}
Normalization = str | Mapping[str, Sequence[float]]


class ToFloat:
    """uint8 (B, C, H, W) -> float32 (B, C', H, W): `channels` channels, `(x / 255 - mean) / std`.

    Grey images are repeated to three channels; colour ones become grey by ITU-R 601 luma. For one channel, statistics
    of three are averaged.
    """

    def __init__(self, channels: int | None, normalization: Normalization) -> None:
        if channels not in (None, 1, 3):
            raise ValueError(f"augment: channels: expected 1, 3 or None (as they come), got {channels!r}")
        self._channels = channels
        self._mean, self._std = (tuple(map(float, values)) for values in _statistics(normalization))

    def __call__(self, images: Tensor) -> Tensor:
        if self._channels == 3 and images.shape[1] == 1:
            images = images.expand(-1, 3, -1, -1)
        elif self._channels == 1 and images.shape[1] == 3:
            images = F.rgb_to_grayscale(images)
        scale, shift = self._affine(images.shape[1], images.device)
        return torch.addcmul(shift, images.float(), scale) if len(self._mean) > 1 else images.float() * scale + shift

    def _affine(self, channels: int, device: torch.device) -> tuple[Tensor, Tensor]:
        mean, std = torch.tensor(self._mean, device=device), torch.tensor(self._std, device=device)
        if len(mean) != channels:
            mean, std = mean.mean().expand(channels), std.mean().expand(channels)
        return (1 / (255 * std)).view(-1, 1, 1), (-mean / std).view(-1, 1, 1)


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
    """Raise a ValueError unless this is the side of an image, or None."""
    if size is not None and size < 1:
        raise ValueError(f"augment: image_size: expected at least 1 pixel, got {size!r}")


def resize(images: Tensor, size: int | None) -> Tensor:
    """To `size` x `size`, bilinear with antialiasing; untouched where they are so already, or for None."""
    if size is None or tuple(images.shape[-2:]) == (size, size):
        return images
    return F.resize(images, [size, size], antialias=True)
