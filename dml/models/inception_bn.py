"""Inception with batch normalisation (BN-Inception, also called Inception-BN).

Ioffe and Szegedy, "Batch normalization: accelerating deep network training by reducing internal covariate shift", 2015,
figure 5: a stem, ten inception blocks, and the mean over space. Easy positive sampling (table 6) and LoOp (supplement)
train it. Its weights start at random.

Deviations, which the network that is common in metric learning shares:

- The first convolution is a plain one; the paper's is separable.
- The filters that figure 5 prints for the blocks 4c and 4d add up to 608 channels, not to the 576 that it also prints.
  The filters are taken as printed, so block 4e gives 1056 channels, not 1024.

At 224 and 227 pixels its shapes are those of that network. Where a map has an odd side, the max-pooling of a block with
stride 2 sees one row and one column more, beyond the border, so that its result has the size of the convolutions'.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dml.models._wrapped import Untrained, freeze_batch_norm

SMALLEST = 7  # pixels a side, below which the stem leaves nothing


class Filters(NamedTuple):
    """The filters of a block: of its four branches, in the order in which their results are concatenated."""

    single: int  # 1x1; 0: there is no such branch, and the block has stride 2
    reduce: int  # 1x1 before the 3x3
    three: int
    double_reduce: int  # 1x1 before the two 3x3
    double: int
    pool: str  # "mean" or "max" over 3x3
    projection: int  # 1x1 after the pooling; 0: passed through

    @property
    def stride(self) -> int:
        """Of the last convolution of each branch, and of the pooling."""
        return 1 if self.single else 2


BLOCKS = {
    "3a": Filters(64, 64, 64, 64, 96, "mean", 32),
    "3b": Filters(64, 64, 96, 64, 96, "mean", 64),
    "3c": Filters(0, 128, 160, 64, 96, "max", 0),
    "4a": Filters(224, 64, 96, 96, 128, "mean", 128),
    "4b": Filters(192, 96, 128, 96, 128, "mean", 128),
    "4c": Filters(160, 128, 160, 128, 160, "mean", 128),
    "4d": Filters(96, 128, 192, 160, 192, "mean", 128),
    "4e": Filters(0, 128, 192, 192, 256, "max", 0),
    "5a": Filters(352, 192, 320, 160, 224, "mean", 128),
    "5b": Filters(352, 192, 320, 192, 224, "max", 128),
}


class InceptionBn(Untrained, nn.Module):
    """images (N, C, H, W) -> (N, 1024).

    Parameters
    ----------
    channels : C of the images.
    image_size : checked only: at least 7 pixels. The mean over space accepts any other size.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as they are at the start, for a network that
        starts from trained weights (LoOp's supplement).
    """

    version: ClassVar[int] = 1

    def __init__(self, channels: int = 3, image_size: int | None = None, frozen_batch_norm: bool = False):
        super().__init__()
        if image_size is not None and image_size < SMALLEST:
            raise ValueError(
                f"backbone 'inception_bn': image_size: expected at least {SMALLEST} pixels, got {image_size}"
            )
        self.frozen_batch_norm = frozen_batch_norm
        self.stem = nn.Sequential(
            _convolution(channels, 64, 7, stride=2),
            nn.MaxPool2d(3, 2, ceil_mode=True),
            _convolution(64, 64, 1),
            _convolution(64, 192, 3),
            nn.MaxPool2d(3, 2, ceil_mode=True),
        )
        width = 192
        self.blocks = nn.ModuleDict()
        for name, filters in BLOCKS.items():
            block = Block(width, filters)
            self.blocks[name], width = block, block.features
        self.features = width
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.frozen_batch_norm:
            freeze_batch_norm(self)
        return self

    def forward(self, images: Tensor) -> Tensor:
        maps = self.stem(images)
        for block in self.blocks.values():
            maps = block(maps)
        return maps.mean((2, 3))


class Block(nn.Module):
    """maps (N, width, H, W) -> (N, features, H, W), or half the sides (rounded up) with stride 2."""

    def __init__(self, width: int, filters: Filters):
        super().__init__()
        self.filters, stride = filters, filters.stride
        self.single = _convolution(width, filters.single, 1) if filters.single else None
        self.three = nn.Sequential(
            _convolution(width, filters.reduce, 1), _convolution(filters.reduce, filters.three, 3, stride)
        )
        self.threes = nn.Sequential(
            _convolution(width, filters.double_reduce, 1),
            _convolution(filters.double_reduce, filters.double, 3),
            _convolution(filters.double, filters.double, 3, stride),
        )
        self.projection = _convolution(width, filters.projection, 1) if filters.projection else None
        self.features = filters.single + filters.three + filters.double + (filters.projection or width)

    def forward(self, maps: Tensor) -> Tensor:
        pooled = self._pool(maps)
        branches = [] if self.single is None else [self.single(maps)]
        branches += [self.three(maps), self.threes(maps)]
        branches.append(pooled if self.projection is None else self.projection(pooled))
        return torch.cat(branches, dim=1)

    def _pool(self, maps: Tensor) -> Tensor:
        if self.filters.pool == "mean":
            return F.avg_pool2d(maps, 3, stride=1, padding=1)
        if self.filters.stride == 1:
            return F.max_pool2d(maps, 3, stride=1, padding=1)
        return F.max_pool2d(F.pad(maps, (0, 2, 0, 2), value=-torch.inf), 3, stride=2)


def _convolution(width: int, features: int, size: int, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the size (at stride 1), batch norm and ReLU."""
    return nn.Sequential(
        nn.Conv2d(width, features, size, stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(features),
        nn.ReLU(inplace=True),
    )
