"""MobileNet v1 of any width (Howard et al. 2017, arXiv:1704.04861, table 1), without its classifier.

timm has three widths of it and refuses others. The names of the weights are timm's, so its files fit. Pads as in
TensorFlow, where the published weights come from.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor, nn

from dml.models._weights import WeightsFile, load
from dml.models._wrapped import IMAGENET, Untrained, check_padding, own_statistics, pad_as_tensorflow, without_file
from dml.types import Resize

STAGES = ((64,), (128, 128), (256, 256), (512,) * 6, (1024, 1024))
"""Channels of each block at full width; the first block of each stage but the first halves the resolution."""
PUBLISHED = Resize(224, "bilinear", 0.875)  # TensorFlow's models: research/slim, inception_preprocessing.py


class MobilenetV1(Untrained, nn.Module):
    """images (N, C, H, W) -> (N, 1024 * width).

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
        check_padding(padding, "backbone 'mobilenet_v1'")
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
        known = None if settings.get("weights") is None else IMAGENET
        return own_statistics(known, settings.get("mean"), settings.get("std"))

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
