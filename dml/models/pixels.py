"""No network: the pixels of reduced images, such as a baseline in closed form takes where nothing is pretrained."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from dml.models._defaults import Untrained

LARGEST = 32  # pixels of a side of the reduced images


class Pixels(Untrained, nn.Module):
    """images (N, C, H, W) -> (N, C * S * S): means over areas of the image, with S = min(32, image_size).

    Parameters
    ----------
    channels : C.
    image_size : side of the images; None: at least 32. Images that are not square are reduced to squares too.
    """

    version: ClassVar[int] = 1

    def __init__(self, channels: int = 3, image_size: int | None = None):
        super().__init__()
        self._side = min(LARGEST, image_size or LARGEST)
        self.features = channels * self._side**2

    def forward(self, images: Tensor) -> Tensor:
        return functional.adaptive_avg_pool2d(images, self._side).flatten(1)
