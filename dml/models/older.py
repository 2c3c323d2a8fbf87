"""Networks of older papers. Each class is a part."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dml.models._weights import WeightsFile, load
from dml.models._wrapped import (
    IMAGENET,
    PADDINGS,
    Untrained,
    freeze_batch_norm,
    pad_as_tensorflow,
    pixel_statistics,
    without_file,
)
from dml.settings import check_choice
from dml.types import Resize

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
    """Inception with batch normalisation (BN-Inception, also called Inception-BN).

    Ioffe and Szegedy, "Batch normalization: accelerating deep network training by reducing internal covariate shift",
    2015, figure 5: a stem, ten inception blocks, and the mean over space. Easy positive sampling (table 6) and LoOp
    (supplement) train it. Its weights start at random.

    Deviations, which the network that is common in metric learning shares:

    - The first convolution is a plain one; the paper's is separable.
    - The filters that figure 5 prints for the blocks 4c and 4d add up to 608 channels, not the printed 576.
      The filters are taken as printed, so block 4e gives 1056 channels, not 1024.

    At 224 and 227 pixels its shapes are those of that network. Where a map has an odd side, the max-pooling of a block
    with stride 2 sees a row and a column more, beyond the border: its result is as large as the convolutions'.

    images (N, C, H, W) -> (N, 1024). `channels`: C. `image_size`: checked only: at least 7 pixels. The mean over space
    accepts any other size. `frozen_batch_norm`: keep batch-norm statistics and affine parameters as they are at the
    start, for a network that starts from trained weights (LoOp's supplement).
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


STAGES = ((64,), (128, 128), (256, 256), (512,) * 6, (1024, 1024))
"""Channels of each block at full width; the first block of each stage but the first halves the resolution."""
PUBLISHED = Resize(224, "bilinear", 0.875)  # TensorFlow's models: research/slim, inception_preprocessing.py


class MobilenetV1(Untrained, nn.Module):
    """MobileNet v1 of any width (Howard et al. 2017, arXiv:1704.04861, table 1), without its classifier.

    timm has three widths of it and refuses others. The names of the weights are timm's, so its files fit. Pads as in
    TensorFlow, where the published weights come from.

    images (N, C, H, W) -> (N, 1024 * width).

    Parameters
    ----------
    channels : C of the images.
    image_size : ignored; the mean over space accepts any size.
    width : multiplies the channels of each layer, which are rounded to multiples of 8.
    weights : a file of weights (`.safetensors`, `.pth`, `.pt`) with timm's names; None: random weights.
    mean, std : of the pixels, from 0 to 1, that the weights expect: a number or one for each channel. None: ImageNet's
        if weights are loaded.
    padding : `tensorflow`, or `torch`, which pads both sides equally.
    """

    version: ClassVar[int] = 1
    file_settings: ClassVar[Sequence[str]] = ("weights",)

    def __init__(
        self,
        channels: int = 3,
        image_size: int | None = None,
        width: float = 1.0,
        weights: WeightsFile | None = None,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        padding: str = "tensorflow",
    ):
        super().__init__()
        if not width > 0:
            raise ValueError(f"backbone 'mobilenet_v1': width: expected a number above 0, got {width!r}")
        check_choice("backbone 'mobilenet_v1': padding", padding, PADDINGS)
        stem = given = _rounded(32 * width)
        stages = []
        for place, stage in enumerate(STAGES):
            blocks = []
            for number, full in enumerate(stage):
                taken = _rounded(full * width)
                blocks.append(_block(given, taken, stride=2 if place and not number else 1))
                given = taken
            stages.append(nn.Sequential(*blocks))
        self.conv_stem = nn.Conv2d(channels, stem, 3, stride=2, padding=1, bias=False)
        self.bn1, self.act = nn.BatchNorm2d(stem), nn.ReLU6(inplace=True)
        self.blocks = nn.Sequential(*stages)
        self.features = given
        if padding == "tensorflow":
            pad_as_tensorflow(self)
        if weights is not None:
            load(self, weights, removed=("classifier",))

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """The settings `mean` and `std`, else ImageNet's for weights from a file; None without either."""
        return pixel_statistics(None if settings.get("weights") is None else IMAGENET, settings)

    @classmethod
    def pixels(cls, **settings: Any) -> Resize | None:
        """Those of the published weights, for weights from a file; None without."""
        return None if settings.get("weights") is None else PUBLISHED

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings without a file of weights."""
        return without_file(settings)

    def forward(self, images: Tensor) -> Tensor:
        return self.blocks(self.act(self.bn1(self.conv_stem(images)))).mean((2, 3))


def _block(given: int, taken: int, stride: int) -> nn.Sequential:
    """A depthwise and a pointwise convolution, each with batch norm and ReLU6."""
    layers: list[tuple[str, nn.Module]] = [
        ("conv_dw", nn.Conv2d(given, given, 3, stride=stride, padding=1, groups=given, bias=False)),
        ("bn1", nn.BatchNorm2d(given)),
        ("act1", nn.ReLU6(inplace=True)),
        ("conv_pw", nn.Conv2d(given, taken, 1, bias=False)),
        ("bn2", nn.BatchNorm2d(taken)),
        ("act2", nn.ReLU6(inplace=True)),
    ]
    return nn.Sequential(OrderedDict(layers))


def _rounded(channels: float) -> int:
    """The nearest multiple of 8, at least 8, and not below 90% of `channels`, as timm and TensorFlow round."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest
