"""No network: the head is trained on the input itself, such as vectors that another network has computed."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from dml.models._defaults import Untrained


class Identity(Untrained, nn.Module):
    """images (N, C, S, S) -> (N, C * S * S), unchanged; vectors are images of one pixel with C channels.

    Parameters
    ----------
    channels, image_size : C and S; None: 1.
    """

    version: ClassVar[int] = 1
    square: ClassVar[bool] = True

    def __init__(self, channels: int = 3, image_size: int | None = None):
        super().__init__()
        self.features = channels * (image_size or 1) ** 2

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)
