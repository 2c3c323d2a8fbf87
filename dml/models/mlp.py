"""A perceptron on flattened pixels: the smallest network, for tests and tiny images."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from dml.models._defaults import Untrained


class Mlp(Untrained, nn.Module):
    """images (N, C, S, S) -> (N, width): one hidden layer with batch norm and ReLU.

    Parameters
    ----------
    channels, image_size : C and S of the images.
    width : units of the hidden layer.
    """

    version: ClassVar[int] = 1
    square: ClassVar[bool] = True

    def __init__(self, channels: int = 1, image_size: int | None = None, width: int = 128):
        super().__init__()
        if image_size is None:
            raise ValueError("backbone 'mlp': image_size: expected a number, got None; set the dataset's `resize`")
        self.features = width
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(channels * image_size**2, width), nn.BatchNorm1d(width), nn.ReLU()
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)
