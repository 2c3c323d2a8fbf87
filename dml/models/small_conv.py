"""A small convolutional network for grey or colour images of 8 to 64 pixels a side, fast enough for a CPU."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from dml.models._defaults import Untrained


class SmallConv(Untrained, nn.Module):
    """images (N, C, H, W) -> (N, 4 * width * grid^2).

    Three blocks of 3x3 convolution, batch norm and ReLU, then the mean over each part of a grid.

    Parameters
    ----------
    channels : C of the images.
    image_size : ignored; the mean accepts any size.
    width : channels of the first block. The second has twice as many at half the resolution, the third four times
        as many at a quarter.
    grid : rows and columns of equal parts over which the mean is taken. 1: over the whole image, so where something is
        does not matter; 2: over its quarters.
    """

    version: ClassVar[int] = 1

    def __init__(self, channels: int = 1, image_size: int | None = None, width: int = 16, grid: int = 1):
        super().__init__()
        if grid < 1:
            raise ValueError(f"backbone 'small_conv': grid: expected at least 1, got {grid}")
        self.features = 4 * width * grid**2
        widths = [channels, width, 2 * width, 4 * width]
        blocks: list[nn.Module] = []
        for index in range(3):
            blocks += [
                nn.Conv2d(widths[index], widths[index + 1], 3, padding=1, stride=1 if index == 0 else 2, bias=False),
                nn.BatchNorm2d(widths[index + 1]),
                nn.ReLU(inplace=True),
            ]
        self.layers = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(grid), nn.Flatten())

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)
