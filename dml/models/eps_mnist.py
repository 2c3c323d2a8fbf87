"""The MNIST network of the easy-positive-sampling paper (Levi et al., sec. 5.1, app. C).

Two 3x3 convolutions (32 and 64 channels), each followed by ReLU and then batch norm, a 2x2 max-pool, and a dense layer
of 128 with ReLU. The dense layer to the plane is the embedding head (`embedding_size: 2`). The paper names no
activation between the two dense layers. ReLU is used here, since without one they would be a single linear map.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from dml.models._defaults import Untrained


class EpsMnist(Untrained, nn.Module):
    """images (N, C, S, S) -> (N, 128).

    Parameters
    ----------
    channels, image_size : C and S of the images; S is at least 6 pixels.
    """

    version: ClassVar[int] = 1
    square: ClassVar[bool] = True

    def __init__(self, channels: int = 1, image_size: int | None = 28):
        super().__init__()
        if image_size is None or image_size < 6:
            raise ValueError(f"backbone 'eps_mnist': image_size: expected at least 6 pixels, got {image_size}")
        self.features = 128
        side = (image_size - 4) // 2
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 32, 3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(32),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(64),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64 * side * side, 128),
            nn.ReLU(inplace=True),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)
