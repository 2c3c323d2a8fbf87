"""A small convolutional network for small grey or colour images (8 to 64 pixels a side) on a CPU."""

from __future__ import annotations

from torch import Tensor, nn


class SmallConv(nn.Module):
    """images (N, C, H, W) -> (N, 4 * width): blocks of 3x3 convolution, batch norm and ReLU, then the mean over space.

    Parameters
    ----------
    channels : C of the images.
    image_size : not used: the mean over space takes any size.
    width : channels of the first block; the later ones have twice and four times as many, at half the resolution.
    """

    def __init__(self, channels: int = 1, image_size: int | None = None, width: int = 16):
        super().__init__()
        self.features = 4 * width
        widths = [channels, width, 2 * width, 4 * width]
        blocks: list[nn.Module] = []
        for index in range(3):
            blocks += [
                nn.Conv2d(widths[index], widths[index + 1], 3, padding=1, stride=1 if index == 0 else 2, bias=False),
                nn.BatchNorm2d(widths[index + 1]),
                nn.ReLU(inplace=True),
            ]
        self.layers = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)
